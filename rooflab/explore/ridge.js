// The ridge as squares: one for each FLOP that the chip could do while one byte arrives.
const BOARDS = {
  [WIDE]: { store: [14, 110], board: [270, 396] },
  [NARROW]: { store: [4, 52], board: [136, 220] },
};
const HEIGHT = 290, TOP = 14, TALL = 250; // of the drawing, and of the chip
const A_PIXEL = 4e10; // B/s: the height of the pipe is to scale

function readRidge(model) {
  const data = model.get("data"), state = model.get("state"), text = model.get("text");
  const units = model.get("units"), found = figuresOf(data, state), { served, memory } = found;
  const { peaks, bandwidth, widths } = served, writing = state.phase === "decode";
  const tokens = state.batch * (writing ? 1 : state.prompt), pass = found.passes[state.phase];
  const squares = Math.round(peaks.linear / bandwidth), used = (2 * tokens) / widths.weights;
  const lit = Math.min(Math.max(Math.round(used), 1), squares), taken = secondsOf(pass);
  // Caches come through the pipe, too: where they take half of a step, the memory does not wait.
  const caches = total(pass, ({ name, count, time }) => (/attention/.test(name) ? count * time : 0));
  const cached = writing ? caches / taken : 0, full = used >= peaks.linear / bandwidth && cached < 0.5;
  const many = fill(state.batch === 1 ? text.one_user : text.many_users, { batch: grouped(state.batch) });
  const known = {
    chip: state.chip, squares, lit, bandwidth: inUnit(bandwidth, units.bandwidth),
    use: fill(text[`${state.phase}_use`], { users: many, used: grouped(Number(used.toPrecision(3))) }),
    share: percent(cached), needed: inUnit(memory.needed, units.bytes),
    missing: inUnit(memory.needed - memory.capacity, units.bytes),
  };
  const notes = [
    text[{ true: "memory_waits", false: "chip_waits" }[full]],
    cached > 0.2 && fill(text.caches_take, known),
    memory.fits === false && fill(text.lacks, known),
  ];
  const words = {
    ...wordsOfSliders(state), claim: fill(text.claim, known), use: known.use, lit: fill(text.lit, known), step: inUnit(taken, units.time),
    token: inUnit(taken / tokens, units.time), note: notes.filter(Boolean).join(" "),
  };
  return { state, squares, lit, bandwidth, full, known, words };
}

// Draws the memory, the pipe and the squares; returns a function that lights them.
function drawSquares(svg, width, { squares, bandwidth, known }, text) {
  const { store: [from, wide], board: [left, across] } = BOARDS[width];
  svg.replaceChildren();
  set(svg, { viewBox: `0 0 ${width} ${HEIGHT}` });
  const middle = TOP + TALL / 2, thick = Math.min(Math.max(bandwidth / A_PIXEL, 4), TALL);
  for (let i = 0; i < 5; i += 1) {
    add(svg, "rect", { class: "store", x: from, y: TOP + (i * TALL) / 5 + 3, width: wide, height: TALL / 5 - 6, rx: 4 });
  }
  const ends = { x: from + wide, width: left - from - wide };
  const pipe = add(svg, "rect", { class: "pipe", y: middle - thick / 2, height: thick, ...ends });
  const caption = { y: TOP + TALL + 20, "text-anchor": "middle", class: "quiet" };
  add(svg, "text", { ...caption, x: from + wide / 2 }, text.memory_store);
  const above = Math.max(middle - thick / 2 - 8, TOP + 10);
  add(svg, "text", { ...caption, x: ends.x + ends.width / 2, y: above }, known.bandwidth);
  add(svg, "text", { ...caption, x: left + across / 2 }, known.chip);
  add(svg, "rect", { class: "board", x: left, y: TOP, width: across, height: TALL, rx: 10 });
  const inner = [across - 16, TALL - 16], ratio = inner[0] / inner[1];
  const columns = Math.ceil(Math.sqrt(squares * ratio)), rows = Math.ceil(squares / columns);
  const cell = Math.min(inner[0] / columns, inner[1] / rows);
  const cells = Array.from({ length: squares }, (_, i) => add(svg, "rect", {
    x: left + 8 + (i % columns) * cell, y: TOP + 8 + Math.floor(i / columns) * cell,
    width: cell * 0.82, height: cell * 0.82, rx: cell / 8,
  }));
  return ({ lit, full }) => {
    cells.forEach((square, i) => set(square, { class: i < lit ? "square lit" : "square" }));
    set(pipe, { class: full ? "pipe idle" : "pipe" });
  };
}

function ridgePicture(model, { el, box, svg, readings, width }) {
  const text = model.get("text");
  const claims = make(el, "div", { class: "claims" }), note = make(el, "p", { class: "note" });
  const claim = make(claims, "p"), use = make(claims, "p");
  el.classList.add("ridge");
  el.prepend(box, claims);
  const cells = ["lit", "step", "token"].map((name) => [name, addReading(readings, text[`${name}_reading`])]);
  let drawn, light;

  return (found) => {
    const { words, known } = found;
    const frame = [known.chip, known.squares, known.bandwidth].join();
    if (frame !== drawn) light = drawSquares(svg, width, found, text);
    drawn = frame;
    light(found);
    claim.textContent = words.claim;
    use.textContent = words.use;
    note.textContent = words.note;
    for (const [name, cell] of cells) cell.data = words[name];
    set(svg, { "aria-label": fill(text.squares_drawn, { ...known, claim: words.claim }) });
  };
}

const ridgeControls = (data, text) => servedControls(data, {
  ...text, choose_batch: text.choose_users, prefill: text.prefill_button, decode: text.decode_button,
}, ["batch"]);

export { readAddress };
export default live({ controls: ridgeControls, settle, read: readRidge, picture: ridgePicture });
