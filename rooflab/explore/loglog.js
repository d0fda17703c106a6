// Draws a roofline on logarithmic axes, for the figures that show one. `box` has the edges of
// the axes.
const DISC = "M-5,0a5,5 0 1,0 10,0a5,5 0 1,0 -10,0z", TRIANGLE = "M-6,-5h12l-6,11z";

// These formulas match roofkit/roofline.py; tests/browser compares the two.
const ridgeOf = (roof) => roof.peak_flops / roof.bandwidth;
const attainable = (roof, intensity) => Math.min(roof.peak_flops, intensity * roof.bandwidth);

function wordsOf(roof, intensity, channel, text, units) {
  const top = attainable(roof, intensity);
  const bound = intensity >= ridgeOf(roof) ? "compute" : channel;
  const words = {
    peak_flops: engineering(roof.peak_flops) + units.peak_flops,
    bandwidth: engineering(roof.bandwidth) + units.bandwidth,
    intensity: `${significant(intensity, 3)} ${units.intensity}`,
    ridge: `${significant(ridgeOf(roof), 4)} ${units.intensity}`,
    attainable: engineering(top) + units.peak_flops,
    share: `${significant((100 * top) / roof.peak_flops, 3)}%`,
    bound: boundBy(bound, text),
  };
  return { top, bound, words };
}

const minors = ([low, high]) =>
  decades([low / 10, high]).flatMap((decade) => [2, 3, 4, 5, 6, 7, 8, 9].map((n) => n * decade))
    .filter((value) => value >= low && value <= high);

function drawAxes(svg, { left, right, top, bottom }, limits, x, y, text) {
  const tens = { x: decades(limits.x), y: decades(limits.y) };
  const grid = tens.x.map((v) => `M${x(v)},${top}V${bottom}`)
    .concat(tens.y.map((v) => `M${left},${y(v)}H${right}`));
  add(svg, "path", { class: "grid", d: grid.join("") });
  const ticks = minors(limits.x).map((v) => `M${x(v)},${bottom}v3`)
    .concat(minors(limits.y).map((v) => `M${left},${y(v)}h-3`))
    .concat(tens.x.map((v) => `M${x(v)},${bottom}v6`), tens.y.map((v) => `M${left},${y(v)}h-6`));
  add(svg, "path", { class: "axis", d: `M${left},${top}V${bottom}H${right}${ticks.join("")}` });
  // On a narrow page not every decade has room for its label.
  const each = Math.ceil((42 * tens.x.length) / (right - left));
  for (const v of tens.x.filter((_, i) => i % each === 0)) {
    add(svg, "text", { x: x(v), y: bottom + 20, "text-anchor": "middle" }, significant(v, 1));
  }
  for (const v of tens.y) {
    add(svg, "text", { x: left - 10, y: y(v) + 4.5, "text-anchor": "end" }, engineering(v).trim());
  }
  const middle = { x: (left + right) / 2, y: (top + bottom) / 2 };
  add(svg, "text", { x: middle.x, y: bottom + 42, "text-anchor": "middle" }, text.x_axis);
  add(svg, "text", { transform: `translate(14,${middle.y})rotate(-90)`, "text-anchor": "middle" },
    text.y_axis);
}

function path(roof, [low, high], x, y) {
  const corner = Math.min(Math.max(ridgeOf(roof), low), high);
  return "M" + [low, corner, high].map((i) => `${x(i)},${y(attainable(roof, i))}`).join("L");
}

// The areas under the slope, where the channel is the limit, and under the flat part, where compute is.
function regions(roof, { bottom }, [low, high], x, y) {
  const corner = Math.min(Math.max(ridgeOf(roof), low), high);
  const under = (from, to) => ({
    d: `M${x(from)},${bottom}V${y(attainable(roof, from))}` +
      `L${x(to)},${y(attainable(roof, to))}V${bottom}z`,
    middle: (x(from) + x(to)) / 2,
    width: x(to) - x(from),
  });
  return { fed: under(low, corner), full: under(corner, high) };
}

// Draws the axes and a roof that moves; returns the scales and a function that redraws the roof.
function drawRoof(svg, box, limits, channel, text, behind) {
  const x = logScale(limits.x, box.left, box.right), y = logScale(limits.y, box.bottom, box.top);
  const shades = ["fed", "full"].map((name) => [name, add(svg, "path", { class: name })]);
  drawAxes(svg, box, limits, x, y, text);
  behind?.(x, y);
  const drop = add(svg, "path", { class: "drop" });
  const line = add(svg, "path", { class: "roof" });
  const names = { fed: boundBy(channel, text), full: text.compute };
  const captions = shades.map(([name]) => [
    name,
    add(svg, "text",
      { class: "caption", y: box.bottom - 12, "text-anchor": "middle" }, names[name]),
  ]);
  const label = add(svg, "text", { "text-anchor": "middle" });

  function redraw(roof, words) {
    const ridge = { x: x(ridgeOf(roof)), y: y(roof.peak_flops) };
    set(line, { d: path(roof, limits.x, x, y) });
    const under = regions(roof, box, limits.x, x, y);
    for (const [name, shade] of shades) set(shade, { d: under[name].d });
    for (const [name, caption] of captions) {
      const fits = caption.getComputedTextLength() + 16 < under[name].width;
      set(caption, { x: under[name].middle, visibility: fits ? "visible" : "hidden" });
    }
    set(drop, { d: `M${ridge.x},${ridge.y}V${box.bottom}` });
    label.textContent = fill(text.ridge_at, words);
    const half = label.getComputedTextLength() / 2;
    const middle = Math.min(Math.max(ridge.x, box.left + half), box.right + 14 - half);
    set(label, { x: middle, y: ridge.y - 10 });
  }
  return { x, y, redraw };
}
