const ROOF = { left: 74, right: WIDTH - 14, top: 14, bottom: 232 };
const BARS = { left: 74, right: 420, top: 318, row: 28, thick: 20, bottom: 400 };
const COLUMNS = { once: 494, times: 562, sum: WIDTH - 14 };
const HEIGHT = BARS.bottom + 44;
const OPERANDS = ["X", "Y", "Z"];

// This count matches roofkit/kernels.py; tests/browser compares the two.
function readMatmul(model) {
  const stops = model.get("stops"), text = model.get("text"), units = model.get("units");
  const [B, D, F, tile] = ["B", "D", "F", "tile"].map((name) => stops[name][model.get(name)]);
  const { dtype, itemsize, peak_flops } = model.get("peaks")[model.get("dtype")];
  const pieces = (length) => (tile === null ? 1 : Math.ceil(length / tile));
  const operands = {
    X: { once: itemsize * B * D, times: pieces(F) },
    Y: { once: itemsize * D * F, times: pieces(B) },
    Z: { once: itemsize * B * F, times: 1 },
  };
  let least = 0, bytes = 0;
  for (const operand of Object.values(operands)) {
    operand.bytes = operand.once * operand.times;
    least += operand.once;
    bytes += operand.bytes;
  }
  const flops = 2 * B * D * F, roof = { peak_flops, bandwidth: model.get("bandwidth") };
  const state = wordsOf(roof, flops / bytes, model.get("channel"), text, units);
  const inBytes = (value) => engineering(value) + units.bytes;
  Object.assign(state.words, {
    B: String(B), D: String(D), F: String(F), dtype,
    tile: tile === null ? text.whole : fill(text.edges, { tile }),
    flops: engineering(flops) + units.flops,
    bytes: inBytes(bytes),
    ...Object.fromEntries(OPERANDS.map((name) => [name, inBytes(operands[name].bytes)])),
  });
  for (const operand of Object.values(operands)) {
    operand.share = operand.bytes / bytes;
    operand.words = {
      once: inBytes(operand.once), times: `× ${operand.times}`, sum: `= ${inBytes(operand.bytes)}`,
    };
  }
  return { ...state, roof, operands, intensity: flops / bytes, most: flops / least };
}

const across = (share) => Number((BARS.left + share * (BARS.right - BARS.left)).toFixed(2));

function drawBars(svg, text) {
  const { left, right, top, row, thick, bottom } = BARS;
  addHatch(svg, "roofkit-hatch", 45);
  const quarters = [0, 0.25, 0.5, 0.75, 1];
  const lines = quarters.map((share) => `M${across(share)},${top - 4}V${bottom}`);
  add(svg, "path", { class: "grid", d: lines.join("") });
  add(svg, "path", { class: "axis", d: `M${left},${top - 4}V${bottom}H${right}` });
  for (const share of quarters) {
    const at = { x: across(share), y: bottom + 18, "text-anchor": "middle" };
    add(svg, "text", at, `${100 * share}%`);
  }
  add(svg, "text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, text.part);
  const parts = { once: ["comms"], again: ["comms", "hatching"] };
  Object.entries(parts).forEach(([part, classes], i) => {
    const x = left + 96 * i;
    const d = `M${x},${top - 27}h22v12h-22z`;
    for (const each of classes) add(svg, "path", { class: each, d });
    add(svg, "text", { x: x + 29, y: top - 16.5 }, text[part]);
  });
  add(svg, "text", { x: COLUMNS.sum, y: top - 16.5, "text-anchor": "end" }, text.crossings);
  return OPERANDS.map((name, i) => {
    const y = top + i * row;
    add(svg, "text", { x: left - 10, y: y + thick - 5, "text-anchor": "end" }, name);
    const bars = Object.entries(parts).map(([part, classes]) =>
      [part, classes.map((each) => add(svg, "path", { class: `${each} bar` }))]);
    const labels = Object.entries(COLUMNS).map(([column, x]) =>
      [column, add(svg, "text", { x, y: y + thick - 5, "text-anchor": "end" })]);
    return { name, y, bars: Object.fromEntries(bars), labels };
  });
}

function matmulPicture(model, svg, readings) {
  const limits = model.get("limits"), text = model.get("text");
  set(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  let guide;
  const { x, y, redraw } = drawRoof(svg, ROOF, limits, model.get("channel"), text, () => {
    guide = add(svg, "path", { class: "guide" });
  });
  const best = add(svg, "g");
  add(best, "path", { class: "best", d: DISC });
  const bestLabel = add(best, "text", { x: 12, y: 20 }, text.once);
  const kernel = add(svg, "path", { class: "kernel" });
  const label = add(svg, "text", {}, text.product);
  const rows = drawBars(svg, text);
  const cells = ["flops", "bytes", "intensity", "attainable", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, operands, intensity, most, top, bound, words }) => {
    redraw(roof, words);
    const point = { x: x(intensity), y: y(top) };
    set(guide, { d: `M${ROOF.left},${point.y}H${point.x}V${ROOF.bottom}` });
    const apart = x(most) - point.x;
    set(best, {
      transform: `translate(${x(most)},${y(attainable(roof, most))})`,
      visibility: apart ? "visible" : "hidden",
    });
    const roomy = apart > label.getComputedTextLength() + 24;
    set(bestLabel, { visibility: roomy ? "inherit" : "hidden" });
    set(kernel, {
      d: bound === "compute" ? DISC : TRIANGLE, transform: `translate(${point.x},${point.y})`,
    });
    const fits = point.x + 12 + label.getComputedTextLength() < ROOF.right;
    set(label, {
      x: point.x + (fits ? 12 : -12),
      y: Math.min(point.y + 20, ROOF.bottom - 28), // above the name of the region
      "text-anchor": fits ? "start" : "end",
    });
    for (const { name, y: from, bars, labels } of rows) {
      const { share, times, words: told } = operands[name];
      const middle = across(share / times), end = across(share);
      const between = (left, right) => `M${left},${from}H${right}v${BARS.thick}H${left}z`;
      for (const bar of bars.once) set(bar, { d: between(BARS.left, middle) });
      for (const bar of bars.again) set(bar, { d: between(middle, end) });
      for (const [column, node] of labels) node.textContent = told[column];
    }
    const about = {
      picture: fill(text.picture, { ...words, kernel: text.product }),
      operands: fill(text.operands, words),
    };
    set(svg, { "aria-label": fill(text.picture_and_operands, about) });
    for (const [key, node] of cells) node.data = words[key];
  };
}

export default live({
  sliders: ["B", "D", "F", "tile"], choices: ["dtype"], read: readMatmul, picture: matmulPicture,
});
