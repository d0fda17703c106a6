const WIDTH = 680, HEIGHT = 380;
const BOX = { left: 74, right: WIDTH - 14, top: 34, bottom: HEIGHT - 50 };
const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];
const BARS = { left: 96, right: WIDTH - 66, top: 36, row: 88, foot: 44, thick: 22 };
const DISC = "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", TRIANGLE = "M-6,-5h12l-6,11z";

// The same formulas as ring 1; tests/browser compares the two.
const ridgeOf = (roof) => roof.peak_flops / roof.bandwidth;
const attainable = (roof, intensity) => Math.min(roof.peak_flops, intensity * roof.bandwidth);

const significant = (value, digits) => String(Number(value.toPrecision(digits)));

function engineering(value) {
  // Rounded first, so that 999.6 becomes 1 k and not 1000.
  const power = Number(value.toExponential(2).split("e")[1]);
  const step = Math.min(Math.max(Math.floor(power / 3), -4), 5);
  return `${significant(value / 1000 ** step, 3)} ${PREFIXES[step + 4]}`;
}

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, key) => values[key]);

function readRoofline(model) {
  const roof = { peak_flops: model.get("peak_flops"), bandwidth: model.get("bandwidth") };
  const intensity = model.get("intensity");
  const top = attainable(roof, intensity);
  const bound = intensity >= ridgeOf(roof) ? "compute" : model.get("channel");
  const units = model.get("units");
  const words = {
    peak_flops: engineering(roof.peak_flops) + units.peak_flops,
    bandwidth: engineering(roof.bandwidth) + units.bandwidth,
    intensity: `${significant(intensity, 3)} ${units.intensity}`,
    ridge: `${significant(ridgeOf(roof), 4)} ${units.intensity}`,
    attainable: engineering(top) + units.peak_flops,
    share: `${significant((100 * top) / roof.peak_flops, 3)}%`,
    bound: model.get("text")[bound] ?? bound,
  };
  return { roof, intensity, top, bound, words };
}

function add(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  element.textContent = text;
  return parent.appendChild(element);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

function logScale([low, high], start, end) {
  const slope = (end - start) / Math.log(high / low);
  return (value) => Number((start + slope * Math.log(value / low)).toFixed(2));
}

function decades([low, high]) {
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

const minors = ([low, high]) =>
  decades([low / 10, high]).flatMap((decade) => [2, 3, 4, 5, 6, 7, 8, 9].map((n) => n * decade))
    .filter((value) => value >= low && value <= high);

function drawAxes(svg, limits, x, y, text) {
  const { left, right, top, bottom } = BOX;
  const tens = { x: decades(limits.x), y: decades(limits.y) };
  const grid = tens.x.map((v) => `M${x(v)},${top}V${bottom}`)
    .concat(tens.y.map((v) => `M${left},${y(v)}H${right}`));
  add(svg, "path", { class: "grid", d: grid.join("") });
  const ticks = minors(limits.x).map((v) => `M${x(v)},${bottom}v3`)
    .concat(minors(limits.y).map((v) => `M${left},${y(v)}h-3`))
    .concat(tens.x.map((v) => `M${x(v)},${bottom}v6`), tens.y.map((v) => `M${left},${y(v)}h-6`));
  add(svg, "path", { class: "axis", d: `M${left},${top}V${bottom}H${right}${ticks.join("")}` });
  for (const v of tens.x) {
    add(svg, "text", { x: x(v), y: bottom + 20, "text-anchor": "middle" }, significant(v, 1));
  }
  for (const v of tens.y) {
    add(svg, "text", { x: left - 10, y: y(v) + 4.5, "text-anchor": "end" }, engineering(v).trim());
  }
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  add(svg, "text", { x: middle.x, y: HEIGHT - 8, "text-anchor": "middle" }, text.x_axis);
  add(svg, "text", { transform: `translate(14,${middle.y})rotate(-90)`, "text-anchor": "middle" },
    text.y_axis);
}

function drawLegend(svg, text) {
  const legend = add(svg, "g");
  for (const [name, label, x] of [["roof", text.now, BOX.left + 12], ["published", text.published, 230]]) {
    add(legend, "path", { class: name, d: `M${x},14h34` });
    add(legend, "text", { x: x + 42, y: 18.5 }, label);
  }
}

function path(roof, [low, high], x, y) {
  const corner = Math.min(Math.max(ridgeOf(roof), low), high);
  return "M" + [low, corner, high].map((i) => `${x(i)},${y(attainable(roof, i))}`).join("L");
}

function rooflinePicture(model, svg, readings) {
  const limits = model.get("limits"), text = model.get("text");
  const x = logScale(limits.x, BOX.left, BOX.right), y = logScale(limits.y, BOX.bottom, BOX.top);
  set(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  drawAxes(svg, limits, x, y, text);
  drawLegend(svg, text);
  add(svg, "path", { class: "published", d: path(model.get("published"), limits.x, x, y) });
  const drop = add(svg, "path", { class: "drop" });
  const guide = add(svg, "path", { class: "guide" });
  const roofLine = add(svg, "path", { class: "roof" });
  const ridgeLabel = add(svg, "text");
  const kernelLabel = add(svg, "text", {}, text.kernel);
  const kernel = add(svg, "path", { class: "kernel" });
  const cells = ["ridge", "attainable", "share", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, intensity, top, bound, words }) => {
    const ridge = { x: x(ridgeOf(roof)), y: y(roof.peak_flops) };
    const point = { x: x(intensity), y: y(top) };
    set(roofLine, { d: path(roof, limits.x, x, y) });
    set(drop, { d: `M${ridge.x},${ridge.y}V${BOX.bottom}` });
    ridgeLabel.textContent = `${text.ridge} ${words.ridge}`;
    const half = ridgeLabel.getComputedTextLength() / 2;
    const middle = Math.min(Math.max(ridge.x, BOX.left + half), WIDTH - half);
    set(ridgeLabel, { x: middle, y: ridge.y - 10, "text-anchor": "middle" });
    set(guide, { d: `M${BOX.left},${point.y}H${point.x}V${BOX.bottom}` });
    set(kernel, {
      d: bound === "compute" ? DISC : TRIANGLE, transform: `translate(${point.x},${point.y})`,
    });
    // Below the roof and to the right, unless the frame would cut it there.
    const fits = point.x + 12 + kernelLabel.getComputedTextLength() < BOX.right;
    set(kernelLabel, fits
      ? { x: point.x + 12, y: point.y + 20, "text-anchor": "start" }
      : { x: point.x - 12, y: point.y + 36, "text-anchor": "end" });
    set(svg, { "aria-label": fill(text.picture, { ...words, kernel: text.kernel }) });
    for (const [key, node] of cells) node.data = words[key];
  };
}

function readTimes(model) {
  const flops = model.get("flops"), bytes = model.get("bytes");
  const text = model.get("text"), units = model.get("units");
  const rows = model.get("roofs").map(({ name, peak_flops, bandwidth, channel }) => {
    const times = { math: flops / peak_flops, comms: bytes / bandwidth };
    times.lower = Math.max(times.math, times.comms);
    times.upper = times.math + times.comms;
    const bound = times.math >= times.comms ? "compute" : channel;
    const words = { name, bound: text[bound] ?? bound };
    for (const [key, value] of Object.entries(times)) words[key] = engineering(value) + units.time;
    return { ...times, words };
  });
  const words = { flops: engineering(flops) + units.flops, bytes: engineering(bytes) + units.bytes };
  return { rows, words };
}

function linearTicks(most, count = 6) {
  const power = 10 ** Math.floor(Math.log10(most / count));
  const step = [1, 2, 5, 10].map((n) => n * power).find((size) => most / size <= count);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

function drawTimeAxis(svg, x, bottom, most, text, second) {
  const { left, right, top } = BARS, ticks = linearTicks(most);
  const [, prefix] = engineering(most).split(" ");
  const unit = 1000 ** (PREFIXES.indexOf(prefix) - 4);
  add(svg, "path", { class: "grid", d: ticks.map((v) => `M${x(v)},${top}V${bottom}`).join("") });
  add(svg, "path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` });
  for (const v of ticks) {
    add(svg, "text", { x: x(v), y: bottom + 18, "text-anchor": "middle" }, significant(v / unit, 3));
  }
  add(svg, "text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" },
    `${text.time} (${prefix}${second})`);
}

function timesPicture(model, svg, readings) {
  const text = model.get("text"), roofs = model.get("roofs"), [, most] = model.get("limits").x;
  const { left, right, top, row, thick } = BARS, bottom = top + row * roofs.length;
  const x = (time) => Number((left + ((right - left) * time) / most).toFixed(2));
  set(svg, { viewBox: `0 0 ${WIDTH} ${bottom + BARS.foot}` });
  const hatch = {
    id: "roofkit-hatch", width: 9, height: 9, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  };
  add(add(svg, "pattern", hatch), "path", { class: "hatch", d: "M4.5,0V9" });
  drawTimeAxis(svg, x, bottom, most, text, model.get("units").time);

  const addBar = (kind, d = "") => {
    const names = kind === "comms" ? ["comms", "hatching"] : [kind];
    return names.map((name) => add(svg, "path", { class: name, d }));
  };
  ["math", "comms", "bracket"].forEach((kind, i) => {
    const at = left + 12 + 120 * i;
    addBar(kind, kind === "bracket" ? `M${at},9v10m0,-5h34m0,-5v10` : `M${at},7h34v14h-34z`);
    add(svg, "text", { x: at + 42, y: 18.5 }, text[kind]);
  });
  const groups = roofs.map(({ name }, i) => {
    const y = top + row * i + 10;
    add(svg, "text", { x: left - 10, y: y + thick + 5, "text-anchor": "end" }, name);
    const bars = ["math", "comms"].map((kind, k) => {
      const from = y + k * (thick + 2);
      return { kind, from, shapes: addBar(kind), label: add(svg, "text", { y: from + thick - 6 }) };
    });
    return { bars, under: y + 2 * thick + 14, bracket: addBar("bracket")[0], node: addReading(readings, name) };
  });

  return ({ rows }) => {
    groups.forEach(({ bars, under, bracket, node }, i) => {
      const { words, lower, upper } = rows[i];
      for (const { kind, from, shapes, label } of bars) {
        const end = x(rows[i][kind]);
        for (const shape of shapes) set(shape, { d: `M${left},${from}H${end}v${thick}H${left}z` });
        set(label, { x: end + 6 });
        label.textContent = words[kind];
      }
      set(bracket, { d: `M${x(lower)},${under - 5}v10m0,-5H${x(upper)}m0,-5v10` });
      node.data = fill(text.between, words);
    });
    const told = rows.map(({ words }) => fill(text.row, words)).join("; ");
    set(svg, { "aria-label": fill(text.bars, { rows: told }) });
  };
}

function addReading(readings, name) {
  const cell = readings.appendChild(document.createElement("div"));
  cell.appendChild(document.createElement("span")).textContent = name;
  return cell.appendChild(document.createTextNode(""));
}

const KINDS = {
  roofline: {
    sliders: ["peak_flops", "bandwidth", "intensity"], read: readRoofline, picture: rooflinePicture,
  },
  times: { sliders: ["flops", "bytes"], read: readTimes, picture: timesPicture },
};

function render({ model, el }) {
  const { sliders, read, picture } = KINDS[model.get("kind")];
  el.classList.add("roofkit-picture");
  const svg = add(el, "svg", { role: "img" });
  const readings = el.appendChild(document.createElement("div"));
  readings.className = "readings";
  readings.setAttribute("role", "status");
  const update = picture(model, svg, readings);

  function draw() {
    const state = read(model);
    update(state);
    // ipywidgets gives its sliders no accessible name, and their raw values are exponents of 2.
    el.closest(".roofkit-explorer")?.querySelectorAll(".noUi-handle").forEach((handle, i) => {
      const name = sliders[i];
      set(handle, { "aria-label": model.get("text")[name], "aria-valuetext": state.words[name] });
    });
  }

  draw();
  for (const name of sliders) model.on(`change:${name}`, draw);
  // Only once the picture is seen are its sliders on the page and do its texts have a length.
  const seen = new IntersectionObserver(draw);
  seen.observe(el);
  return () => {
    seen.disconnect();
    for (const name of sliders) model.off(`change:${name}`, draw);
  };
}

// Once per model, not per view: the read-outs are values that labels beside the sliders show.
function initialize({ model }) {
  const { sliders, read } = KINDS[model.get("kind")];
  const write = () => {
    const { words } = read(model);
    for (const name of sliders) model.set(`${name}_readout`, words[name]);
  };
  write();
  for (const name of sliders) model.on(`change:${name}`, write);
  return () => sliders.forEach((name) => model.off(`change:${name}`, write));
}

export default { initialize, render };
