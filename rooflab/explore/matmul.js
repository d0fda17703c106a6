// The roof, the bars below it, and the numbers beside the bars or, on a narrow page, under them.
const TOP = 318, THICK = 20;
const PLACES = {
  [WIDE]: {
    roof: { left: 74, right: 666, top: 14, bottom: 232 }, left: 74, right: 420, row: 28, under: 0,
    columns: { once: 494, times: 562, sum: 666 },
  },
  [NARROW]: {
    roof: { left: 62, right: 346, top: 14, bottom: 232 }, left: 26, right: 342, row: 48, under: 19,
    columns: { once: 110, times: 190, sum: 342 },
  },
};
const OPERANDS = ["X", "Y", "Z"];

// This count matches roofkit/kernels.py; tests/browser compares the two.
function readMatmul(model) {
  const text = model.get("text"), units = model.get("units");
  const { peaks, bandwidth, channel } = model.get("data"), { B, D, F, tile, dtype } = model.get("state");
  const { itemsize, peak_flops } = peaks.find((each) => each.dtype === dtype);
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
  const flops = 2 * B * D * F, roof = { peak_flops, bandwidth };
  const state = wordsOf(roof, flops / bytes, channel, text, units);
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

function drawBars(svg, { left, right, row, under, columns, bottom }, across, text) {
  addHatch(svg, "roofkit-hatch", 45);
  const quarters = [0, 0.25, 0.5, 0.75, 1];
  const lines = quarters.map((share) => `M${across(share)},${TOP - 4}V${bottom}`);
  add(svg, "path", { class: "grid", d: lines.join("") });
  add(svg, "path", { class: "axis", d: `M${left},${TOP - 4}V${bottom}H${right}` });
  for (const share of quarters) {
    const at = { x: across(share), y: bottom + 18, "text-anchor": "middle" };
    add(svg, "text", at, `${100 * share}%`);
  }
  add(svg, "text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" }, text.part);
  const parts = { once: ["comms"], again: ["comms", "hatching"] };
  Object.entries(parts).forEach(([part, classes], i) => {
    const x = left + (under ? 82 : 96) * i;
    const d = `M${x},${TOP - 27}h22v12h-22z`;
    for (const each of classes) add(svg, "path", { class: each, d });
    add(svg, "text", { x: x + 29, y: TOP - 16.5 }, text[part]);
  });
  add(svg, "text", { x: columns.sum, y: TOP - 16.5, "text-anchor": "end" }, text.crossings);
  return OPERANDS.map((name, i) => {
    const y = TOP + i * row, line = y + THICK - 5;
    add(svg, "text", { x: left - 10, y: line, "text-anchor": "end" }, name);
    const bars = Object.entries(parts).map(([part, classes]) =>
      [part, classes.map((each) => add(svg, "path", { class: `${each} bar` }))]);
    const labels = Object.entries(columns).map(([column, x]) =>
      [column, add(svg, "text", { x, y: line + under, "text-anchor": "end" })]);
    return { name, y, bars: Object.fromEntries(bars), labels };
  });
}

function matmulPicture(model, { svg, readings, width }) {
  const places = PLACES[width], { roof: box, left, right, row } = places;
  const bottom = TOP + 3 * row - 2;
  const across = (share) => Number((left + share * (right - left)).toFixed(2));
  const { limits, channel } = model.get("data"), text = model.get("text");
  set(svg, { viewBox: `0 0 ${width} ${bottom + 44}` });
  let guide;
  const { x, y, redraw } = drawRoof(svg, box, limits, channel, text, () => {
    guide = add(svg, "path", { class: "guide" });
  });
  const best = add(svg, "g");
  add(best, "path", { class: "best", d: DISC });
  const bestLabel = add(best, "text", { x: 12, y: 20 }, text.once);
  const kernel = add(svg, "path", { class: "kernel" });
  const label = add(svg, "text", {}, text.product);
  const rows = drawBars(svg, { ...places, bottom }, across, text);
  const cells = ["flops", "bytes", "intensity", "attainable", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, operands, intensity, most, top, bound, words }) => {
    redraw(roof, words);
    const point = { x: x(intensity), y: y(top) };
    set(guide, { d: `M${box.left},${point.y}H${point.x}V${box.bottom}` });
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
    const fits = point.x + 12 + label.getComputedTextLength() < box.right;
    set(label, {
      x: point.x + (fits ? 12 : -12),
      y: Math.min(point.y + 20, box.bottom - 28), // above the name of the region
      "text-anchor": fits ? "start" : "end",
    });
    for (const { name, y: from, bars, labels } of rows) {
      const { share, times, words: told } = operands[name];
      const middle = across(share / times), end = across(share);
      const between = (start, stop) => `M${start},${from}H${stop}v${THICK}H${start}z`;
      for (const bar of bars.once) set(bar, { d: between(left, middle) });
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

const matmulControls = ({ peaks, stops }, text) => [
  ...["B", "D", "F", "tile"].map((name) => slider(name, text[name], () => stops[name])),
  buttons("dtype", text.dtype, peaks.map(({ dtype }) => dtype)),
];

export default live({ controls: matmulControls, read: readMatmul, picture: matmulPicture });
