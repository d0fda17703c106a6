// Keeps a notebook that was only opened from counting as changed: when the kernel starts,
// JupyterLab writes its Python version into the notebook's language_info.
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
          // The model is marked as changed right after this signal, so a microtask can unmark it.
          if (key === "language_info" && !model.dirty) queueMicrotask(() => (model.dirty = false));
        });
      });
    },
  };
}
