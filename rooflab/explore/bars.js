const BARS = { top: 36, row: 88, foot: 44, thick: 22 };
const SIDES = { [WIDE]: { left: 96, right: 614, legend: 108 }, [NARROW]: { left: 84, right: 296, legend: 2 } };

// Returns the amount that a slider shows. With a term, its value counts something else.
function readAmount(model, key, unit) {
  const value = model.get("state")[key], each = model.get("data").each[key];
  return each ? { amount: value * each, words: String(value) } : { amount: value, words: engineering(value) + unit };
}

function readTimes(model) {
  const units = model.get("units"), text = model.get("text");
  const work = readAmount(model, "flops", units.flops);
  const traffic = readAmount(model, "bytes", units.bytes);
  const rows = model.get("data").roofs.map(({ name, peak_flops, bandwidth, channel }) => {
    const times = { math: work.amount / peak_flops, comms: traffic.amount / bandwidth };
    times.lower = Math.max(times.math, times.comms);
    times.upper = times.math + times.comms;
    const bound = times.math >= times.comms ? "compute" : channel;
    const words = { name, bound: boundBy(bound, text) };
    for (const [key, value] of Object.entries(times)) words[key] = engineering(value) + units.time;
    return { ...times, words };
  });
  return { rows, words: { flops: work.words, bytes: traffic.words } };
}

function timesPicture(model, { svg, readings, width }) {
  const text = model.get("text"), { roofs, longest: most } = model.get("data");
  const { top, row, thick } = BARS, { left, right, legend } = SIDES[width], bottom = top + row * roofs.length;
  const x = (time) => Number((left + ((right - left) * time) / most).toFixed(2));
  set(svg, { viewBox: `0 0 ${width} ${bottom + BARS.foot}` });
  addHatch(svg, "roofkit-hatch", 45);
  drawTimeAxis(svg, { left, right, top, bottom }, most, text, model.get("units").time);

  const addBar = (kind, d = "") => {
    const names = kind === "comms" ? ["comms", "hatching"] : [kind];
    return names.map((name) => add(svg, "path", { class: name, d }));
  };
  ["math", "comms"].forEach((kind, i) => {
    const at = legend + 118 * i;
    addBar(kind, `M${at},7h34v14h-34z`);
    add(svg, "text", { x: at + 42, y: 18.5 }, text[kind]);
  });
  const groups = roofs.map(({ name }, i) => {
    const y = top + row * i + 10;
    add(svg, "text", { x: left - 10, y: y + thick + 5, "text-anchor": "end" }, name);
    const bars = ["math", "comms"].map((kind, k) => {
      const from = y + k * (thick + 2);
      return { kind, from, shapes: addBar(kind), label: add(svg, "text", { y: from + thick - 6 }) };
    });
    const turn = addTurn(svg, ["comms", "math"], { left, y: y + 2 * thick + 6, word: text.in_turn });
    return { bars, turn, node: addReading(readings, name) };
  });

  return ({ rows }) => {
    groups.forEach(({ bars, turn, node }, i) => {
      const { words } = rows[i];
      for (const { kind, from, shapes, label } of bars) {
        const end = x(rows[i][kind]);
        for (const shape of shapes) set(shape, { d: `M${left},${from}H${end}v${thick}H${left}z` });
        set(label, { x: end + 6 });
        label.textContent = words[kind];
      }
      turn(rows[i], x, words.upper);
      node.data = fill(text.between, words);
    });
    const told = rows.map(({ words }) => fill(text.row, words)).join(text.between_rows);
    set(svg, { "aria-label": fill(text.bars, { rows: told }) });
  };
}

const timesControls = ({ stops }, text) =>
  ["flops", "bytes"].map((name) => slider(name, text[name], () => stops[name]));

export default live({ controls: timesControls, read: readTimes, picture: timesPicture });
