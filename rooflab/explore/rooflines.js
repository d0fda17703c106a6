const HEIGHT = 380;
const BOX = { left: 74, right: WIDTH - 14, top: 34, bottom: HEIGHT - 50 };

function readRoofline(model) {
  const roof = { peak_flops: model.get("peak_flops"), bandwidth: model.get("bandwidth") };
  const intensity = model.get("intensity");
  const channel = model.get("channel"), text = model.get("text"), units = model.get("units");
  return { roof, intensity, ...wordsOf(roof, intensity, channel, text, units) };
}

function drawLegend(svg, text) {
  const legend = add(svg, "g");
  for (const [name, label, x] of [["roof", text.now, BOX.left + 12], ["published", text.published, 230]]) {
    add(legend, "path", { class: name, d: `M${x},14h34` });
    add(legend, "text", { x: x + 42, y: 18.5 }, label);
  }
}

function rooflinePicture(model, svg, readings) {
  const limits = model.get("limits"), text = model.get("text");
  set(svg, { viewBox: `0 0 ${WIDTH} ${HEIGHT}` });
  let guide;
  const { x, y, redraw } = drawRoof(svg, BOX, limits, model.get("channel"), text, (x, y) => {
    drawLegend(svg, text);
    add(svg, "path", { class: "published", d: path(model.get("published"), limits.x, x, y) });
    guide = add(svg, "path", { class: "guide" });
  });
  const kernelLabel = add(svg, "text", {}, text.kernel);
  const kernel = add(svg, "path", { class: "kernel" });
  const cells = ["ridge", "attainable", "share", "bound"]
    .map((key) => [key, addReading(readings, text[key])]);

  return ({ roof, intensity, top, bound, words }) => {
    redraw(roof, words);
    const point = { x: x(intensity), y: y(top) };
    set(guide, { d: `M${BOX.left},${point.y}H${point.x}V${BOX.bottom}` });
    set(kernel, {
      d: bound === "compute" ? DISC : TRIANGLE, transform: `translate(${point.x},${point.y})`,
    });
    // The label is below the roof and to the right, unless the frame would cut it off. If it would
    // extend into the compute region although the kernel is not compute-bound, it is on the guide.
    const end = point.x + 12 + kernelLabel.getComputedTextLength();
    if (bound !== "compute" && end > x(ridgeOf(roof))) {
      set(kernelLabel, { x: BOX.left + 8, y: point.y - 5, "text-anchor": "start" });
    } else {
      set(kernelLabel, end < BOX.right
        ? { x: point.x + 12, y: point.y + 20, "text-anchor": "start" }
        : { x: point.x - 12, y: point.y + 36, "text-anchor": "end" });
    }
    set(svg, { "aria-label": fill(text.picture, { ...words, kernel: text.kernel }) });
    for (const [key, node] of cells) node.data = words[key];
  };
}

export default live({
  sliders: ["peak_flops", "bandwidth", "intensity"], read: readRoofline, picture: rooflinePicture,
});
