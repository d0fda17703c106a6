const HEIGHT = 380;
const BOX = { left: 74, right: WIDTH - 14, top: 34, bottom: HEIGHT - 50 };
const DISC = "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", TRIANGLE = "M-6,-5h12l-6,11z";

// The same formulas as ring 1; tests/browser compares the two.
const ridgeOf = (roof) => roof.peak_flops / roof.bandwidth;
const attainable = (roof, intensity) => Math.min(roof.peak_flops, intensity * roof.bandwidth);

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

// Under the slope the channel binds, under the flat part compute.
function regions(roof, [low, high], x, y) {
  const corner = Math.min(Math.max(ridgeOf(roof), low), high);
  const under = (from, to) => ({
    d: `M${x(from)},${BOX.bottom}V${y(attainable(roof, from))}` +
      `L${x(to)},${y(attainable(roof, to))}V${BOX.bottom}z`,
    middle: (x(from) + x(to)) / 2,
    width: x(to) - x(from),
  });
  return { fed: under(low, corner), full: under(corner, high) };
}

function rooflinePicture(model, svg, readings) {
  const limits = model.get("limits"), text = model.get("text");
  const x = logScale(limits.x, BOX.left, BOX.right), y = logScale(limits.y, BOX.bottom, BOX.top);
  set(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  const shades = ["fed", "full"].map((name) => [name, add(svg, "path", { class: name })]);
  drawAxes(svg, limits, x, y, text);
  drawLegend(svg, text);
  add(svg, "path", { class: "published", d: path(model.get("published"), limits.x, x, y) });
  const drop = add(svg, "path", { class: "drop" });
  const guide = add(svg, "path", { class: "guide" });
  const roofLine = add(svg, "path", { class: "roof" });
  const names = { fed: text[model.get("channel")] ?? model.get("channel"), full: text.compute };
  const captions = shades.map(([name]) =>
    [name, add(svg, "text", { class: "caption", y: BOX.bottom - 12, "text-anchor": "middle" }, names[name])]);
  const ridgeLabel = add(svg, "text");
  const kernelLabel = add(svg, "text", {}, text.kernel);
  const kernel = add(svg, "path", { class: "kernel" });
  const cells = ["ridge", "attainable", "share", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, intensity, top, bound, words }) => {
    const ridge = { x: x(ridgeOf(roof)), y: y(roof.peak_flops) };
    const point = { x: x(intensity), y: y(top) };
    set(roofLine, { d: path(roof, limits.x, x, y) });
    const under = regions(roof, limits.x, x, y);
    for (const [name, shade] of shades) set(shade, { d: under[name].d });
    for (const [name, caption] of captions) {
      const fits = caption.getComputedTextLength() + 16 < under[name].width;
      set(caption, { x: under[name].middle, visibility: fits ? "visible" : "hidden" });
    }
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

export default live({
  sliders: ["peak_flops", "bandwidth", "intensity"], read: readRoofline, picture: rooflinePicture,
});
