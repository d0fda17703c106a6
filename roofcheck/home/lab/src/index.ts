// The extension that JupyterLab loads. It only fetches the plugins, which are plain JavaScript in
// ../../static, served by the server extension. Changing them needs no build or installation.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';

// Modules that are not part of a build can't import JupyterLab's packages by name.
const packages: Record<string, () => Promise<unknown>> = {
  '@jupyterlab/application': () => import('@jupyterlab/application'),
  '@jupyterlab/apputils': () => import('@jupyterlab/apputils'),
  '@jupyterlab/coreutils': () => import('@jupyterlab/coreutils'),
  '@jupyterlab/launcher': () => import('@jupyterlab/launcher'),
  '@jupyterlab/mainmenu': () => import('@jupyterlab/mainmenu'),
  '@jupyterlab/notebook': () => import('@jupyterlab/notebook'),
  '@jupyterlab/services': () => import('@jupyterlab/services'),
  '@jupyterlab/ui-components': () => import('@jupyterlab/ui-components'),
  '@lumino/widgets': () => import('@lumino/widgets')
};

async function shared(name: string): Promise<unknown> {
  if (!(name in packages)) {
    throw new Error(`${name} is missing in roofcheck/home/lab/src/index.ts`);
  }
  return packages[name]();
}

async function fetchPlugins(): Promise<JupyterFrontEndPlugin<unknown>[]> {
  const url = URLExt.join(PageConfig.getBaseUrl(), 'roofline/static/index.js');
  const { plugins } = await import(/* webpackIgnore: true */ url);
  return plugins(shared);
}

const plugin: JupyterFrontEndPlugin<void> = {
  id: 'roofcheck:plugin',
  description: "The Roofline course's home, handing in, and saving",
  autoStart: true,
  activate: async (app: JupyterFrontEnd) => {
    const enabled = (await fetchPlugins()).filter(({ id }) => !PageConfig.Extension.isDisabled(id));
    app.registerPlugins(enabled);
    await Promise.all(enabled.map(({ id }) => app.activatePlugin(id)));
  }
};

export default plugin;
