// A notebook that was only opened has nothing to save. When its kernel has started, JupyterLab writes
// that kernel's version of Python into it as language_info, which would mark it as changed.
export async function make(shared) {
  const { INotebookTracker } = await shared("@jupyterlab/notebook");
  return {
    id: "roofcheck:untouched",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (app, tracker) => {
      tracker.widgetAdded.connect(async (_, panel) => {
        await panel.context.ready;
        const { model } = panel;
        model.metadataChanged.connect((_, { key }) => {
          // The model is marked after it has signalled the change, so by then it can be unmarked.
          if (key === "language_info" && !model.dirty) queueMicrotask(() => (model.dirty = false));
        });
      });
    },
  };
}
