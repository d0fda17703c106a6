// The course's home page, its menu, its launcher card, and when it opens.
import { View } from "./view.js";
import { server } from "./server.js";

const HOME = "roofline:home";
const GIVE_UP = "roofline:give-up";
const REVIEW = "roofline:review";
const PAGE = "roofline:page";
// On screens narrower than this (in pixels), the file browser leaves no room for the page.
const NARROW = 600;
const ICON = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 24 24">
  <path class="jp-icon3" fill="currentColor" d="M3 3h2v16h16v2H3z"/>
  <path class="jp-icon3" fill="currentColor" d="m6.2 15.8 6-8.800H21v2.200h-7.700l-5.300 7.800z"/></svg>`;

export async function make(shared) {
  const the = await server(shared);
  const { begin, words } = the;
  const { ILayoutRestorer } = await shared("@jupyterlab/application");
  const apputils = await shared("@jupyterlab/apputils");
  const { Dialog, ICommandPalette, MainAreaWidget, WidgetTracker, showDialog } = apputils;
  const { PageConfig } = await shared("@jupyterlab/coreutils");
  const { ILauncher } = await shared("@jupyterlab/launcher");
  const { IMainMenu } = await shared("@jupyterlab/mainmenu");
  const { LabIcon, refreshIcon } = await shared("@jupyterlab/ui-components");
  const { Menu, Widget } = await shared("@lumino/widgets");

  function activate(app, restorer, palette, launcher, mainMenu) {
    if (!begin.labels) return; // JupyterLab isn't serving the course
    const { commands } = app;
    const icon = new LabIcon({ name: "roofline:home", svgstr: ICON });
    const tracker = new WidgetTracker({ namespace: "roofline-home" });
    const style = document.createElement("link");
    Object.assign(style, { rel: "stylesheet", href: the.address("static/home.css") });
    document.head.append(style);

    async function home() {
      let widget = tracker.currentWidget;
      if (!widget || widget.isDisposed) {
        const content = new Widget();
        content.view = new View(content.node, the, commands);
        content.onAfterAttach = content.onAfterShow = () => content.view.refresh();
        widget = new MainAreaWidget({ content });
        widget.toolbar.hide();
        widget.id = "roofline-home";
        Object.assign(widget.title, { label: words.home, icon, closable: true });
      }
      if (!widget.isAttached) app.shell.add(widget, "main");
      if (!tracker.has(widget)) await tracker.add(widget);
      app.shell.activateById(widget.id);
      if (window.innerWidth < NARROW) app.shell.collapseLeft?.();
      return widget;
    }

    commands.addCommand(HOME, { label: words.home, icon, execute: home });
    commands.addCommand(REVIEW, {
      label: words.review,
      icon: refreshIcon,
      execute: async () => (await home()).content.view.review(),
    });
    commands.addCommand(PAGE, {
      label: ({ text }) => text ?? "",
      execute: ({ url }) => window.open(the.page(url), "_blank", "noopener"),
    });
    commands.addCommand(GIVE_UP, {
      label: words["show-answers"],
      execute: async ({ name }) => {
        const accept = Dialog.warnButton({ label: words["show-answers"] });
        const { button } = await showDialog({
          title: words["give-up-title"],
          body: words["give-up"],
          buttons: [Dialog.cancelButton({ label: words["keep-working"] }), accept],
          defaultButton: 0, // Enter must not give up
        });
        if (!button.accept) return;
        await the.request("give-up", { name });
        window.open(the.address(`answers/${name}`), "_blank", "noopener");
      },
    });
    palette?.addItem({ command: HOME, category: words.menu });
    palette?.addItem({ command: REVIEW, category: words.menu });
    launcher?.add({ command: HOME, category: words.menu, rank: 0 });
    launcher?.add({ command: REVIEW, category: words.menu, rank: 1 });
    if (mainMenu) {
      const menu = new Menu({ commands });
      menu.id = "roofline-menu";
      menu.title.label = words.menu;
      menu.addItem({ command: HOME });
      menu.addItem({ command: REVIEW });
      if (begin.pages.length) menu.addItem({ type: "separator" });
      for (const page of begin.pages) menu.addItem({ command: PAGE, args: page });
      mainMenu.addMenu(menu, true, { rank: 900 });
    }
    restorer?.restore(tracker, { command: HOME, name: () => "home" });

    // Open the page first, unless the URL or the last session opens something else.
    app.restored.then(() => {
      const opened = [...app.shell.widgets("main")].filter((each) => !each.id.startsWith("launcher"));
      if (!opened.length && !PageConfig.getOption("treePath")) commands.execute(HOME);
    });
    window.addEventListener("focus", () => {
      if (tracker.currentWidget?.isVisible) tracker.currentWidget.content.view.refresh();
    });
  }

  return {
    id: "roofcheck:home",
    autoStart: true,
    optional: [ILayoutRestorer, ICommandPalette, ILauncher, IMainMenu],
    activate,
  };
}
