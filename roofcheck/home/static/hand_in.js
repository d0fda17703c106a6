// The hand-in command, with buttons on the home page and in a set's toolbar, and hand_in() in cells.
import { element, trusted } from "./dom.js";
import { save, watchSaves } from "./saving.js";
import { server } from "./server.js";

export const HAND_IN = "roofline:hand-in";
// As in roofcheck/handin/notebook_file.py.
const LAB_VARIABLE = "ROOFLINE_LAB";
const REQUEST_KEY = "roofline-hand-in";

export async function make(shared) {
  const { begin, request, words } = await server(shared);
  const { Dialog, ToolbarButton, showDialog } = await shared("@jupyterlab/apputils");
  const { PathExt } = await shared("@jupyterlab/coreutils");
  const { INotebookTracker, NotebookActions } = await shared("@jupyterlab/notebook");
  const { Widget } = await shared("@lumino/widgets");

  // Saves the notebook if it is open, hands it in, and returns the report or what went wrong.
  async function send(context, body, onSaved = () => {}) {
    let screen;
    try {
      if (context) screen = await save(context);
    } catch (error) {
      return { title: words["not-saved"] ?? error.message };
    }
    onSaved();
    try {
      return await request("hand-in", { ...body, screen });
    } catch (error) {
      return { title: error.message };
    }
  }

  async function handIn(tracker, { name, path }, unfinished = false) {
    const open = tracker.find((panel) => (path ? panel.context.path === path : false));
    const running = new Dialog({
      body: new Widget({ node: element("p", { role: "status" }, words["handing-in"]) }),
      buttons: [],
      hasClose: false,
      title: words["hand-in"],
    });
    // JupyterLab asks about a conflict in a dialog, which would wait until this one is closed.
    const onSaved = () => running.launch().catch(() => {});
    const report = await send(open?.context, { name, path, unfinished }, onSaved);
    running.dispose();
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

  // Finds the set whose questions a renamed notebook checks.
  function findSet(model) {
    const sources = [...model.cells].map((cell) => cell.sharedModel.getSource()).join("\n");
    return Object.values(begin.sets).find((name) => sources.includes(`\ncheck("${name}.`));
  }

  // Tells the kernel, just before it runs a cell with hand_in(), that this page answers requests.
  function announce({ session }) {
    const { kernel } = session ?? {};
    const code = `__import__("os").environ["${LAB_VARIABLE}"] = "${kernel?.clientId}"`;
    kernel?.requestExecute({ code, silent: true, store_history: false }).done.catch(() => {});
  }

  // Answers a request of hand_in(): puts the report where its output is.
  async function answer({ content: { model } }, context, { id, name, unfinished }) {
    const body = { name, path: context.path, unfinished, from_cell: true };
    const { html, text, title } = await send(context, body);
    const data = html ? { "text/html": html, "text/plain": text } : { "text/plain": title };
    for (const { outputs } of model?.cells ?? []) {
      for (let index = 0; index < (outputs?.length ?? 0); index++) {
        if (outputs.get(index).metadata[REQUEST_KEY]?.id !== id) continue;
        outputs.set(index, { output_type: "display_data", data, metadata: {} });
      }
    }
  }

  return {
    id: "roofcheck:hand-in",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (app, tracker) => {
      // A cell can hand in without a course, but the buttons need its words.
      if (begin.labels) {
        const execute = (set) => handIn(tracker, set);
        app.commands.addCommand(HAND_IN, { label: words["hand-in"], execute });
      }
      NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
        if (!/\bhand_in\b/.test(cell.model.sharedModel.getSource())) return;
        const panel = tracker.find(({ content }) => content === notebook);
        if (panel) announce(panel.sessionContext);
      });
      app.docRegistry.addWidgetExtension("Notebook", {
        createNew: (panel, context) => {
          watchSaves(context);
          const { sessionContext } = context;
          sessionContext.iopubMessage.connect((_, { header, parent_header, content }) => {
            const asked = header.msg_type === "display_data" && content.metadata?.[REQUEST_KEY];
            const isOwn = parent_header.session === sessionContext.session?.kernel?.clientId;
            if (asked && isOwn) answer(panel, context, asked);
          });
          if (!begin.labels) return;
          context.ready.then(() => {
            const name = begin.sets[PathExt.basename(context.path)] ?? findSet(context.model);
            if (!name || panel.isDisposed) return;
            const onClick = () => app.commands.execute(HAND_IN, { name, path: context.path });
            const button = new ToolbarButton({ label: words["hand-in"], onClick });
            panel.toolbar.insertItem(10, "roofline-hand-in", button);
          });
        },
      });
    },
  };
}
