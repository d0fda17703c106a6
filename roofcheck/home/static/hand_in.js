// The hand-in command, with buttons on the home page and in a set's toolbar.
import { element, trusted } from "./dom.js";
import { server } from "./server.js";

export const HAND_IN = "roofline:hand-in";

export async function make(shared) {
  const { begin, request, words } = await server(shared);
  const { Dialog, ToolbarButton, showDialog } = await shared("@jupyterlab/apputils");
  const { PathExt } = await shared("@jupyterlab/coreutils");
  const { INotebookTracker } = await shared("@jupyterlab/notebook");
  const { Widget } = await shared("@lumino/widgets");

  async function handIn(tracker, { name, path }, unfinished = false) {
    const open = tracker.find((panel) => (path ? panel.context.path === path : false));
    if (open?.context.model.dirty) await open.context.save();
    const running = new Dialog({
      body: new Widget({ node: element("p", { role: "status" }, words["handing-in"]) }),
      buttons: [],
      hasClose: false,
      title: words["hand-in"],
    });
    let report;
    try {
      running.launch().catch(() => {});
      report = await request("hand-in", { name, path, unfinished });
    } catch (error) {
      report = { html: "", title: error.message };
    } finally {
      running.dispose();
    }
    const said = report.html ? trusted(report.html) : element("p", {}, report.title);
    said.classList.add("roofline-report");
    const close = Dialog.okButton({ label: words["not-now"] });
    const buttons = [close];
    if (report.can_go_on) buttons.unshift(Dialog.warnButton({ label: words["all-the-same"] }));
    const answer = await showDialog({
      body: new Widget({ node: said }),
      buttons,
      defaultButton: buttons.length - 1,
      title: words["hand-in"],
    });
    const again = report.can_go_on && answer.button.label === words["all-the-same"];
    return again ? handIn(tracker, { name, path }, true) : report;
  }

  return {
    id: "roofcheck:hand-in",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (app, tracker) => {
      if (!begin.labels) return;
      app.commands.addCommand(HAND_IN, {
        label: words["hand-in"],
        execute: (set) => handIn(tracker, set),
      });
      app.docRegistry.addWidgetExtension("Notebook", {
        createNew: (panel, context) => {
          const name = begin.sets[PathExt.basename(context.path)];
          if (!name) return;
          const button = new ToolbarButton({
            label: words["hand-in"],
            onClick: () => app.commands.execute(HAND_IN, { name, path: context.path }),
          });
          panel.toolbar.insertItem(10, "roofline-hand-in", button);
          return button;
        },
      });
    },
  };
}
