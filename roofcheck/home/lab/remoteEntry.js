// What JupyterLab loads of an extension: a container as module federation knows it, written by hand.
// The extension itself lies in the package and is served by its server extension, so that this file,
// which an installation copies, has nothing in it that changes.
{
  const { baseUrl } = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  let scope = {};

  // A package that JupyterLab shares, such as @jupyterlab/notebook.
  const shared = async (name) => {
    const [version] = Object.values(scope[name] ?? {});
    if (!version) throw new Error(`JupyterLab shares no ${name}`);
    return (await version.get())();
  };

  window._JUPYTERLAB ??= {};
  window._JUPYTERLAB.roofcheck = {
    init: (given) => {
      scope = given;
    },
    get: async () => {
      const { plugins } = await import(`${baseUrl}roofline/static/index.js`);
      const made = { __esModule: true, default: await plugins(shared) };
      return () => made;
    },
  };
}
