const TOP = 10, THICK = 20; // of the bars
const SPLITS = {
  [WIDE]: { left: 104, right: 614, row: 46, captions: 110 },
  [NARROW]: { left: 82, right: 292, row: 64, captions: 4 },
};
const RESOURCES = ["math", "memory", "link"];
const BOUNDS = { math: "compute", memory: "memory", link: "link" };

const grouped = (value) => Math.round(value).toLocaleString("en-US");

// These formulas match roofkit/network/sharding.py; tests/browser compares the two.
function timesOf({ B, D, F, n, itemsize, peak_flops, bandwidth, egress, sent }) {
  const times = {
    math: (2 * B * D * F) / n / peak_flops,
    memory: (itemsize * ((B * D) / n + (D * F) / n + B * F)) / bandwidth,
    link: (sent * itemsize * B * F) / egress,
  };
  times.lower = Math.max(times.math, times.memory, times.link);
  times.upper = times.math + times.memory + times.link;
  return times;
}

// As D grows, T_math grows from 0, T_memory from the time of Z, and T_link stays the same. So the
// link is the slowest at first, then perhaps memory, and finally perhaps compute. This finds the D
// where each of these ranges ends; a range that ends before it starts does not exist.
function piecesOf({ B, F, n, itemsize, peak_flops, bandwidth, egress, sent }) {
  const math = (2 * B * F) / n / peak_flops;
  const memory = (itemsize * (B + F)) / n / bandwidth, written = (itemsize * B * F) / bandwidth;
  const link = (sent * itemsize * B * F) / egress;
  const critical = link / math;
  return {
    critical,
    link: Math.min(critical, (link - written) / memory),
    memory: math > memory ? written / (math - memory) : Infinity,
    math: Infinity,
  };
}

function readChips(model) {
  const text = model.get("text"), units = model.get("units");
  const { groups, F, itemsize } = model.get("data"), { topology, n, D, B } = model.get("state");
  const { sizes, ...chip } = groups[topology];
  const { shape, ...size } = sizes.find((each) => each.n === n);
  const split = { B, D, F, itemsize, ...chip, ...size };
  const times = timesOf(split), pieces = piecesOf(split);
  // If two times are equal, the first is the bound, as in Estimate.bound.
  const bound = RESOURCES.find((name) => times[name] === times.lower);
  const work = (name, speed, unit) => fill(text[`${name}_work`], {
    B, F, shape, share: significant(D / n, 5),
    amount: engineering(times[name] * speed) + unit, speed: `${engineering(speed)}${unit}/s`,
  });
  const words = {
    n: String(n), B: grouped(B), D: grouped(D), shape,
    bound: text[BOUNDS[bound]],
    critical: grouped(pieces.critical),
    speedup: `${significant(timesOf({ ...split, n: 1, sent: 0 }).lower / times.lower, 3)}×`,
  };
  for (const name of [...RESOURCES, "lower", "upper"]) {
    words[name] = engineering(times[name]) + units.time;
  }
  const works = {
    math: work("math", split.peak_flops, units.flops),
    memory: work("memory", split.bandwidth, units.bytes),
    link: n === 1 ? text.alone : work("link", split.egress, units.bytes),
  };
  return { D, times, pieces, bound, words, works };
}

// Keeps the number of chips, or selects the nearest one possible with the chosen topology.
function settleGroup({ groups }, state) {
  const far = ({ n }) => Math.abs(n - state.n);
  const nearest = groups[state.topology].sizes.reduce((best, size) => (far(size) < far(best) ? size : best));
  return { ...state, n: nearest.n };
}

function roundLimit(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((n) => n * power).find((limit) => limit >= value);
}

// Adds a shape twice: with its colour, and with a hatch that distinguishes it without colour.
const addShapes = (svg, name, more = "") =>
  [name, `hatching-${name}`].map((shape) => add(svg, "path", { class: shape + more }));

// Draws the strip that shows which time is longest at every D, with marks at D and D*.
function drawStrip(svg, { left, right, top, width }, widths, text) {
  const thick = 18, bottom = top + thick;
  const limits = [widths[0], widths.at(-1)], x = logScale(limits, left, right);
  const caption = { class: "caption", "text-anchor": "middle", y: top + thick - 5 };
  const tick = { class: "quiet", "text-anchor": "middle", y: bottom + 18 };
  add(svg, "text", { x: left - 10, y: top + thick - 5, "text-anchor": "end" }, text.D);
  const pieces = ["link", "memory", "math"].map((name) => ({
    name,
    shapes: addShapes(svg, name, " piece"),
    caption: add(svg, "text", caption, text[BOUNDS[name]]),
  }));
  const ticks = decades(limits).map((width) =>
    ({ at: x(width), label: add(svg, "text", { ...tick, x: x(width) }, engineering(width)) }));
  const marks = ticks.map(({ at }) => `M${at},${bottom}v5`).join("");
  add(svg, "path", { class: "axis", d: `M${left},${bottom}H${right}${marks}` });
  const edge = add(svg, "path", { class: "axis" });
  const critical = add(svg, "text", { y: bottom + 18 });
  const place = add(svg, "path", { class: "place" });
  const label = add(svg, "text", { y: top - 12 });

  // Puts a caption in the middle of its range, or to the side if a line would cross it there.
  const putCaption = (caption, from, end, lines) => {
    const half = caption.getComputedTextLength() / 2 + 6;
    const ways = [(from + end) / 2, from + half, end - half];
    const free = ways.find((at) => lines.every((line) => Math.abs(line - at) > half));
    set(caption, { x: free ?? ways[0], visibility: 2 * half < end - from ? "visible" : "hidden" });
  };

  // Writes text around a position but inside the figure; returns the start and end of the text.
  const write = (node, words, at) => {
    node.textContent = words;
    const half = node.getComputedTextLength() / 2;
    const middle = Math.min(Math.max(at, half), width - half);
    set(node, { x: middle, "text-anchor": "middle" });
    return [middle - half - 6, middle + half + 6];
  };
  return ({ D, pieces: ends, words }) => {
    const inside = ends.critical >= limits[0] && ends.critical <= limits[1];
    const at = inside ? x(ends.critical) : right;
    let from = left;
    for (const { name, shapes, caption } of pieces) {
      const end = Math.max(from, x(Math.min(Math.max(ends[name], limits[0]), limits[1])));
      for (const shape of shapes) set(shape, { d: `M${from},${top}H${end}v${thick}H${from}z` });
      putCaption(caption, from, end, [x(D), at]);
      from = end;
    }
    set(edge, { d: `M${at},${top - 4}V${bottom + 5}`, visibility: inside ? "visible" : "hidden" });
    const shown = ends.critical > 0;
    set(critical, { visibility: shown ? "visible" : "hidden" });
    const [start, stop] = write(critical, fill(inside ? text.critical_at : text.critical_beyond, words), at);
    for (const { at, label } of ticks) {
      const half = label.getComputedTextLength() / 2;
      const covered = shown && at + half > start && at - half < stop;
      set(label, { visibility: covered ? "hidden" : "visible" });
    }
    set(place, { d: `M${x(D)},${bottom}V${top - 2}m-5,-7h10l-5,8z` });
    write(label, fill(text.D_at, words), x(D));
  };
}

function chipsPicture(model, { svg, readings, width }) {
  const text = model.get("text"), widths = model.get("data").stops.D, second = model.get("units").time;
  const { left, right, row, captions } = SPLITS[width], top = TOP, thick = THICK;
  const bottom = top + 3 * row + 28, strip = { left, right, top: bottom + 72, width };
  set(svg, { class: "dense", viewBox: `0 0 ${width} ${strip.top + 44}` });
  readings.classList.add("dense");
  addHatch(svg, "roofkit-hatch", 45);
  addHatch(svg, "roofkit-hatch-link", -45);
  const axis = add(svg, "g"), guide = add(svg, "path", { class: "guide" });
  const bars = RESOURCES.map((name, i) => {
    const y = top + row * i;
    const before = { x: left - 10, y: y + thick - 5, "text-anchor": "end" };
    add(svg, "text", before, text[`${name}_time`]);
    return {
      name, y,
      shapes: addShapes(svg, name),
      label: add(svg, "text", { y: y + thick - 5 }),
      // A narrow page breaks a caption after its colon.
      captions: (width === WIDE ? [15] : [14, 30]).map((below) =>
        add(svg, "text", { class: "quiet", x: captions, y: y + thick + below })),
    };
  });
  const under = top + 3 * row + 12;
  const turn = addTurn(svg, [...RESOURCES].reverse(), { left, y: under - 6, word: text.in_turn });
  const updateStrip = drawStrip(svg, strip, widths, text);
  const cells = ["bound", "total", "critical", "speedup"]
    .map((key) => [key, addReading(readings, text[key === "bound" ? key : `${key}_reading`])]);
  let drawn;

  return (state) => {
    const { times, bound, words, works } = state, most = roundLimit(times.upper);
    const x = (time) => Number((left + ((right - left) * time) / most).toFixed(2));
    if (most !== drawn) {
      axis.replaceChildren();
      drawTimeAxis(axis, { left, right, top: top - 6, bottom }, most, text, second);
      drawn = most;
    }
    for (const { name, y, shapes, label, captions: lines } of bars) {
      const end = x(times[name]);
      for (const shape of shapes) {
        set(shape, { d: `M${left},${y}H${end}v${thick}H${left}z` });
        shape.classList.toggle("waits", name !== bound);
      }
      set(label, { x: end + 6 });
      label.classList.toggle("binds", name === bound);
      label.textContent = words[name];
      const [first, ...rest] = works[name].split(/(?<=: )/);
      const parts = lines.length > 1 ? [first, rest.join("")] : [works[name]];
      lines.forEach((line, i) => { line.textContent = parts[i]; });
    }
    set(guide, { d: `M${x(times.lower)},${top - 6}V${under}` });
    turn(times, x, words.upper);
    updateStrip(state);
    set(svg, { "aria-label": fill(text.chips, words) });
    const told = { ...words, total: fill(text.span, words) };
    for (const [key, node] of cells) node.data = told[key];
  };
}

const chipsControls = ({ groups, stops }, text) => [
  buttons("topology", text.topology, groups.map((_, place) => place), (place) => groups[place].label),
  slider("n", text.n, ({ topology }) => groups[topology].sizes.map(({ n }) => n)),
  ...["D", "B"].map((name) => slider(name, text[name], () => stops[name])),
];

export default live({ controls: chipsControls, settle: settleGroup, read: readChips, picture: chipsPicture });
