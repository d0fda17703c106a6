// The client of the course's server extension, at roofline/ below the server's URL.
export async function server(shared) {
  const { PageConfig } = await shared("@jupyterlab/coreutils");
  const { ServerConnection } = await shared("@jupyterlab/services");
  const settings = ServerConnection.makeSettings();
  const address = (path) => `${settings.baseUrl}roofline/${path}`;

  const page = (url) => new URL(url, settings.baseUrl).href;

  // The extension's data from when JupyterLab started; {} if it serves no course.
  const begin = JSON.parse(PageConfig.getOption("roofline") || "{}");
  const words = begin.labels ?? {};

  // Returns the reply's JSON, or throws an Error with a sentence. With a body, sends a POST.
  async function request(path, body) {
    const options = body ? { method: "POST", body: JSON.stringify(body) } : { cache: "no-store" };
    const response = await ServerConnection.makeRequest(address(path), options, settings);
    const data = await response.json().catch(() => ({}));
    if (response.ok) return data;
    throw new Error(data.message || `${response.status} ${response.statusText}`);
  }
  return { address, begin, page, request, words };
}
