// hand_in() reads the notebook's file, so save the file when a cell that calls hand_in() starts.
export async function make(shared) {
  const { INotebookTracker, NotebookActions } = await shared("@jupyterlab/notebook");
  return {
    id: "roofcheck:saving",
    autoStart: true,
    requires: [INotebookTracker],
    activate: (app, tracker) => {
      NotebookActions.executionScheduled.connect((_, { notebook, cell }) => {
        if (!/\bhand_in\b/.test(cell.model.sharedModel.getSource())) return;
        tracker.find((panel) => panel.content === notebook)?.context.save();
      });
    },
  };
}
