// What JupyterLab loads: it only fetches the plugins, which lie in ../../static as plain JavaScript
// and come from the server extension. So a change there needs no build and no new installation.
import type { JupyterFrontEnd, JupyterFrontEndPlugin } from '@jupyterlab/application';
import { PageConfig, URLExt } from '@jupyterlab/coreutils';

// Modules that no build has seen can't import JupyterLab's packages by their names.
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
