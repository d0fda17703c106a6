// Scales, axes and hatches that several figures share.
function logScale([low, high], start, end) {
  const slope = (end - start) / Math.log(high / low);
  return (value) => Number((start + slope * Math.log(value / low)).toFixed(2));
}

function decades([low, high]) {
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high));
  return Array.from({ length: last - first + 1 }, (_, i) => 10 ** (first + i));
}

function linearTicks(most, count = 6) {
  const power = 10 ** Math.floor(Math.log10(most / count));
  const step = [1, 2, 5, 10].map((n) => n * power).find((size) => most / size <= count);
  return Array.from({ length: Math.floor(most / step + 1e-9) + 1 }, (_, i) => i * step);
}

function drawTimeAxis(parent, { left, right, top, bottom }, most, text, second) {
  const x = (time) => Number((left + ((right - left) * time) / most).toFixed(2));
  // An axis that ends at 1 ms is in µs, like the times on it.
  const ticks = linearTicks(most), [, prefix] = engineering(0.99 * most).split(" ");
  const unit = 1000 ** (PREFIXES.indexOf(prefix) - 4);
  add(parent, "path", { class: "grid", d: ticks.map((v) => `M${x(v)},${top}V${bottom}`).join("") });
  add(parent, "path", { class: "axis", d: `M${left},${top}V${bottom}H${right}` });
  for (const v of ticks) {
    add(parent, "text", { x: x(v), y: bottom + 18, "text-anchor": "middle" }, significant(v / unit, 3));
  }
  add(parent, "text", { x: (left + right) / 2, y: bottom + 38, "text-anchor": "middle" },
    fill(text.time_axis, { unit: prefix + second }));
}

function addHatch(svg, id, angle) {
  const pattern = {
    id, width: 9, height: 9, patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})`,
  };
  add(add(svg, "pattern", pattern), "path", { class: "hatch", d: "M4.5,0V9" });
}

// Adds a row in which times follow one another instead of overlapping; returns its update.
function addTurn(svg, kinds, { left, y, word }) {
  const row = add(svg, "g", { class: "in-turn" });
  add(row, "text", { class: "quiet", x: left - 10, y: y + 11, "text-anchor": "end" }, word);
  const pieces = kinds.map((kind) => add(row, "path", { class: kind }));
  const label = add(row, "text", { y: y + 11 });
  return (times, x, words) => {
    let sum = 0;
    kinds.forEach((kind, i) => {
      const from = x(sum);
      sum += times[kind];
      set(pieces[i], { d: `M${from},${y}H${x(sum)}v13H${from}z` });
    });
    set(label, { x: x(sum) + 6 });
    label.textContent = words;
  };
}
