// Saves notebooks, one save at a time: JupyterLab takes its own two saves at a time for a conflict.
const PATIENCE = 10_000; // milliseconds; a save that the student cancels never reports its end
const running = new WeakMap();

// Watches the saves of a notebook's context, so that `save` can wait for them.
export function watchSaves(context) {
  let end;
  context.saveState.connect((_, state) => {
    end?.();
    if (state !== "started") return;
    const saved = new Promise((resolve) => (end = resolve));
    setTimeout(end, PATIENCE);
    running.set(context, saved);
    saved.then(() => running.get(context) === saved && running.delete(context));
  });
}

// Saves what is on the screen, and returns the text of every cell at that time. JupyterLab counts an
// edit during a save as saved, so this saves unchanged notebooks, too.
export async function save(context) {
  do {
    await new Promise((resolve) => setTimeout(resolve)); // lets a save begin that was just asked for
    await running.get(context);
  } while (running.has(context));
  const saved = context.save();
  const screen = context.model.toJSON().cells.map((cell) => [cell.source].flat().join(""));
  await saved;
  return screen;
}
