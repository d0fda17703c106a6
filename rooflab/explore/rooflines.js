// The edges of the axes, and where the two entries of the legend start.
const ROOFLINE = {
  [WIDE]: { height: 380, box: { left: 74, right: 666, top: 34, bottom: 330 }, legend: [[86, 14], [230, 14]] },
  [NARROW]: { height: 340, box: { left: 62, right: 346, top: 52, bottom: 290 }, legend: [[62, 12], [62, 32]] },
};

const ROOFLINE_SLIDERS = ["peak_flops", "bandwidth", "intensity"];

function readRoofline(model) {
  const { intensity, ...roof } = model.get("state"), { channel } = model.get("data");
  const text = model.get("text"), units = model.get("units");
  return { roof, intensity, ...wordsOf(roof, intensity, channel, text, units) };
}

function drawLegend(svg, places, text) {
  const legend = add(svg, "g");
  [["roof", text.now], ["published", text.published]].forEach(([name, label], i) => {
    const [x, y] = places[i];
    add(legend, "path", { class: name, d: `M${x},${y}h34` });
    add(legend, "text", { x: x + 42, y: y + 4.5 }, label);
  });
}

function rooflinePicture(model, { svg, readings, width }) {
  const { height, box, legend } = ROOFLINE[width];
  const { limits, channel, published } = model.get("data"), text = model.get("text");
  set(svg, { viewBox: `0 0 ${width} ${height}` });
  let guide;
  const { x, y, redraw } = drawRoof(svg, box, limits, channel, text, (x, y) => {
    drawLegend(svg, legend, text);
    add(svg, "path", { class: "published", d: path(published, limits.x, x, y) });
    guide = add(svg, "path", { class: "guide" });
  });
  const kernelLabel = add(svg, "text", {}, text.kernel);
  const kernel = add(svg, "path", { class: "kernel" });
  const cells = ["ridge", "attainable", "share", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, intensity, top, bound, words }) => {
    redraw(roof, words);
    const point = { x: x(intensity), y: y(top) };
    set(guide, { d: `M${box.left},${point.y}H${point.x}V${box.bottom}` });
    set(kernel, {
      d: bound === "compute" ? DISC : TRIANGLE, transform: `translate(${point.x},${point.y})`,
    });
    // The label is below the roof and to the right, unless the frame would cut it off. If it would
    // extend into the compute region although the kernel is not compute-bound, it is on the guide.
    const end = point.x + 12 + kernelLabel.getComputedTextLength();
    if (bound !== "compute" && end > x(ridgeOf(roof))) {
      set(kernelLabel, { x: box.left + 8, y: point.y - 5, "text-anchor": "start" });
    } else {
      set(kernelLabel, end < box.right
        ? { x: point.x + 12, y: point.y + 20, "text-anchor": "start" }
        : { x: point.x - 12, y: point.y + 36, "text-anchor": "end" });
    }
    set(svg, { "aria-label": fill(text.picture, { ...words, kernel: text.kernel }) });
    for (const [key, node] of cells) node.data = words[key];
  };
}

const rooflineControls = ({ stops }, text) =>
  ROOFLINE_SLIDERS.map((name) => slider(name, text[name], () => stops[name]));

export default live({ controls: rooflineControls, read: readRoofline, picture: rooflinePicture });
