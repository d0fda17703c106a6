const ROOFS = {
  [WIDE]: { left: 74, right: 666, top: 8, bottom: 300 },
  [NARROW]: { left: 60, right: 350, top: 8, bottom: 270 },
};
const INTENSITIES = [0.3, 5e4]; // points beyond are drawn at the edge
const LARGEST = 36; // pixels: a point that takes all the time
const BOUND = { compute: "math", memory: "memory" };
const PARTS = ["weights", "cache", "activations"];

function readModel(model) {
  const data = model.get("data"), state = model.get("state"), text = model.get("text");
  const units = model.get("units"), found = figuresOf(data, state), { memory, served } = found;
  const bytes = (value) => inUnit(value, units.bytes);
  const second = (value) => inUnit(value, units.time);
  const pass = found.passes[state.phase], taken = secondsOf(pass);
  const layers = pass.map((layer) => ({ ...layer, share: (layer.count * layer.time) / taken }));
  const aside = total(layers, ({ intensity, share }) => (intensity ? 0 : share));
  const known = {
    model: state.model, chip: state.chip, n: state.n, needed: bytes(memory.needed),
    capacity: bytes(memory.capacity), missing: bytes(Math.abs(memory.needed - memory.capacity)),
    batch: grouped(state.batch), prompt: grouped(state.prompt), context: grouped(found.context),
    longest: grouped(served.model.context ?? 0), time: second(taken), share: percent(aside),
  };
  const verdict = { true: "fits", false: "lacks", null: "unknown_capacity" }[memory.fits];
  const beyond = state.prompt + state.answer > (served.model.context ?? Infinity);
  const someGrey = Object.entries(data.choices).some(([name, values]) =>
    values.some((value) => !available(data, state, name, value)));
  const notes = [
    data.predicted && text.predicted_how, state.n > 1 && text.over_links, served.viewer && text.viewer_counts,
    (state.peak || state.bandwidth) && text.own_figures, beyond && fill(text.beyond, known), someGrey && text.greyed,
  ];
  const words = {
    ...wordsOfSliders({ reached: 1, ...state }),
    held: fill(text[verdict], known), speed: grouped(Number(found.speed.toPrecision(3))),
    pass: fill(text[`${state.phase}_pass`], known), taken: known.time,
    aside: aside >= 0.005 ? fill(text.aside, known) : "", note: notes.filter(Boolean).join(" "),
  };
  return { ...found, state, layers, known, words, ...readingsOf(found, data, state, text, units) };
}

// How much longer than at best a pass takes with timed kernels: the middle and both ends, or undefined.
function ratioOf({ predicted }, { model, chip, n, phase, batch, weights, activations, kv, ...state }, pass) {
  const plain = weights === 16 && activations === 16 && kv === 16 && state.convention === "roofkit" &&
    !state.peak && !state.bandwidth && (state.reached ?? 1) === 1;
  const rows = plain ? predicted?.ratios[chip]?.[model]?.[n] : undefined;
  if (!rows) return undefined;
  if (pass === "prefill") return rows.at(-1);
  // Between two batches, on a scale of doublings.
  const { batches } = predicted, after = batches.findIndex((each) => each >= batch);
  if (after < 1) return rows[after < 0 ? batches.length - 1 : 0];
  const part = Math.log(batch / batches[after - 1]) / Math.log(batches[after] / batches[after - 1]);
  return rows[after].map((ratio, i) => ratio * part + rows[after - 1][i] * (1 - part));
}

// The best and the predicted value of each reading, and what they mean for the goal.
function readingsOf(found, data, state, text, units) {
  const { first, each } = found, { batch, goal } = state;
  const second = (value) => inUnit(value, units.time);
  const speed = (value) => grouped(Number(value.toPrecision(value < 1000 ? 2 : 3)));
  const ratios = { first: ratioOf(data, state, "prefill"), each: ratioOf(data, state, "decode") };
  const told = (name, of, shown, down) => {
    const ratio = ratios[name];
    if (!ratio) return "";
    const [middle, low, high] = ratio.map((times) => shown(of(times)));
    return fill(text.predicted, down ? { middle, low: high, high: low } : { middle, low, high });
  };
  const cells = {
    first: [second(first), told("first", (times) => first * times, second)],
    each: [second(each), told("each", (times) => each * times, second)],
    user: [speed(1 / each), told("each", (times) => 1 / each / times, speed, true)],
    speed: [speed(batch / each), told("each", (times) => batch / each / times, speed, true)],
  };
  if (!goal) return { cells, verdict: "" };
  const [middle, low, high] = (ratios.each ?? []).map((times) => 1 / each / times);
  const kind = goal > 1 / each ? "never" : !middle ? "unknown" : goal <= high ? "surely"
    : goal > low ? "hardly" : "perhaps";
  const known = { goal: grouped(goal), best: cells.user[0], middle: middle && speed(middle),
    share: percent(goal * each), low: middle && speed(high), high: middle && speed(low) };
  return { cells, verdict: fill(text[`goal_${kind}`], known) };
}

// Merges layers that overlap into one point, named after the largest, with the sum of their shares.
function pointsOf(layers, x, y, { bandwidth, reached }) {
  const points = [];
  for (const layer of layers.filter(({ intensity }) => intensity)) {
    const { intensity, bound, peak, share, name } = layer;
    const at = { x: x(intensity), y: y(reached * Math.min(peak, intensity * bandwidth)), bound };
    const same = points.find((point) =>
      point.bound === bound && Math.abs(point.x - at.x) < 7 && Math.abs(point.y - at.y) < 7);
    const point = same ?? { ...at, share: 0, names: [] };
    if (!same) points.push(point);
    point.share += share;
    point.names.push([share, name]);
  }
  for (const point of points) {
    point.names = point.names.sort(([one], [other]) => other - one).map(([, name]) => name);
    point.r = Math.max(LARGEST * Math.sqrt(point.share), 3);
  }
  return points.sort((one, other) => other.share - one.share);
}

const overlap = (one, other) => one.left < other.right && other.left < one.right &&
  one.top < other.bottom && other.top < one.bottom;

// Labels the slowest layers first, next to their points where there is free space.
function placeLabels(labels, points, box, drawn) {
  const taken = points.map(({ x, y, r }) =>
    ({ left: x - r * 0.8, right: x + r * 0.8, top: y - r * 0.8, bottom: y + r * 0.8 }));
  taken.push(...drawn);
  labels.forEach((label, i) => {
    const { x, y, r } = points[i], width = label.getComputedTextLength(), near = r * 0.7 + 4;
    const beside = [[r + 5, 5], [near, near + 10], [-width / 2, r + 15], [-width / 2, -r - 6],
      [-r - 5 - width, 5], [-width - near, -near], [-width / 2, r + 32], [-width / 2, -r - 23]];
    const places = beside.map(([right, down]) => ({
      left: x + right, right: x + right + width, top: y + down - 11, bottom: y + down + 3,
    }));
    const inside = (place) => place.left > box.left && place.right < box.right &&
      place.top > box.top && place.bottom < box.bottom;
    const free = places.find((place) =>
      inside(place) && !taken.some((other) => overlap(place, other)));
    set(label, { visibility: free ? "visible" : "hidden" });
    if (!free) return;
    set(label, { x: free.left, y: free.bottom - 3 });
    taken.push(free);
  });
}

// Draws the roof of a chip; returns a function that adds the layers.
function drawLayers(svg, width, { bandwidth, highest }, text, units) {
  const box = ROOFS[width], { left, right, top, bottom } = box;
  svg.replaceChildren();
  set(svg, { viewBox: `0 0 ${right + 14} ${bottom + 48}` });
  const limits = { x: INTENSITIES, y: [bandwidth * INTENSITIES[0] * 0.5, highest * 8] };
  // The ridge is written next to the peak.
  const { x, y, redraw } = drawRoof(svg, box, limits, "memory", { ...text, ridge_at: "" });
  const roofs = add(svg, "g"), points = add(svg, "g"), labels = add(svg, "g");
  const said = add(svg, "text", { x: left + 10, y: top + 16, class: "binds" });
  const more = add(svg, "text", { x: left + 10, y: top + 34, class: "quiet" });
  const within = (scale, [low, high]) => (value) => scale(Math.min(Math.max(value, low), high));

  return ({ served, layers, words, state }) => {
    const { peaks, dtypes } = served;
    redraw({ peak_flops: peaks.linear, bandwidth }, {});
    // The peaks of other dtypes that some layers use.
    const used = new Map([["linear", peaks.linear]].concat(
      layers.filter(({ on }) => on).map(({ on, peak }) => [on, peak])));
    // Small boxes to keep free of labels: along the roof and on other labels.
    const [low, high] = limits.x;
    const drawn = Array.from({ length: 41 }, (_, i) => {
      const intensity = low * (high / low) ** (i / 40), at = x(intensity);
      const height = y(Math.min(intensity * bandwidth, peaks.linear));
      return { left: at - 9, right: at + 9, top: height - 4, bottom: height + 4 };
    });
    drawn.push({ left, right: left + 220, top, bottom: top + 40 });
    roofs.replaceChildren();
    const write = (words, from, height) => {
      const label = { x: from, y: height, "text-anchor": "end", class: "quiet" };
      const width = add(roofs, "text", label, words).getComputedTextLength();
      drawn.push({ left: from - width, right: from, top: height - 12, bottom: height + 3 });
    };
    for (const [dtype, peak] of new Map([...used].map(([on, peak]) => [dtypes[on], peak]))) {
      const height = y(peak), from = x(peak / bandwidth);
      if (peak !== peaks.linear) {
        add(roofs, "path", { class: "published", d: `M${from},${height}H${right}` });
      }
      const name = /16$/.test(dtype) ? text.bits_16 : dtype;
      write(`${name}: ${engineering(peak)}${units.peak_flops}`, from - 8, height + 4);
    }
    const ridge = significant(peaks.linear / bandwidth, 4);
    write(fill(text.ridge_at, { ridge }), x(peaks.linear / bandwidth) - 4, bottom - 30);
    const found = pointsOf(layers, within(x, limits.x), within(y, limits.y), served);
    points.replaceChildren();
    for (const { bound, x: cx, y: cy, r } of found) {
      add(points, "circle", { class: `layer ${BOUND[bound]}`, cx, cy, r });
    }
    labels.replaceChildren();
    const named = found.map(({ names: [name, ...rest], share }) => {
      const told = { name: rest.length ? `${name} + ${rest.length}` : name, share: percent(share) };
      return add(labels, "text", {}, fill(text.point, told));
    });
    placeLabels(named, found, { ...box, bottom: bottom - 26 }, drawn);
    said.textContent = fill(text.pass_takes, { pass: text[state.phase], time: words.taken });
    more.textContent = words.aside;
  };
}

// The table of layers, one row each; returns a function that fills it.
function addTable(parent, text, units) {
  const box = make(parent, "div", { class: "scrolls" });
  const table = make(box, "table"), caption = make(table, "caption");
  const heads = make(make(table, "thead"), "tr"), body = make(table, "tbody");
  for (const name of ["layer", "flops", "bytes", "intensity", "time", "share", "bound"]) {
    make(heads, "th", { scope: "col" }, text[`${name}_column`]);
  }
  return ({ layers, words }) => {
    caption.textContent = words.pass;
    body.replaceChildren();
    const row = (name, cells) => {
      const line = make(body, "tr"), head = make(line, "th", { scope: "row" });
      // A long name may be broken after its underscores.
      for (const part of name.split(/(?<=_)/)) head.append(part, document.createElement("wbr"));
      for (const cell of cells) make(line, "td", {}, cell);
      return line;
    };
    for (const { name, count, flops, bytes, link, intensity, time, share, bound } of layers) {
      const named = count > 1 ? fill(text.times_layer, { count, name }) : name;
      row(named, [
        inUnit(flops, ""), link ? fill(text.sent, { bytes: inUnit(link, "") }) : inUnit(bytes, ""),
        intensity ? significant(intensity, 4) : "–", inUnit(time, units.time),
        (100 * share).toFixed(1), text[`${bound}_bound`],
      ]);
    }
    const whole = (of) => total(layers, (layer) => layer.count * layer[of]);
    const sums = [inUnit(whole("flops"), ""), inUnit(whole("bytes"), ""), ""];
    row(text.total_row, [...sums, words.taken, "", ""]).className = "sum";
  };
}

// The contents of a chip's memory, as a bar; returns a function that fills it.
function addMemory(parent, text, units) {
  const box = make(parent, "div", { class: "held" });
  const bar = make(box, "div", { class: "room", role: "img" }), key = make(box, "p");
  const parts = PARTS.map((name) => [name, make(bar, "span", { class: name })]);
  const limit = make(bar, "i");
  const told = PARTS.map((name) => {
    const part = make(key, "span");
    make(part, "i", { class: name });
    return [name, part.appendChild(document.createTextNode(""))];
  });
  const room = make(key, "span");
  return ({ memory, words, known }) => {
    const most = Math.max(memory.needed, memory.capacity ?? 0);
    for (const [name, part] of parts) part.style.width = `${(100 * memory[name]) / most}%`;
    for (const [name, node] of told) {
      node.data = `${text[`${name}_part`]} ${inUnit(memory[name], units.bytes)}`;
    }
    limit.style.left = `${(100 * (memory.capacity ?? most)) / most}%`;
    room.textContent = memory.capacity === null ? "" : fill(text.room, known);
    set(bar, { "aria-label": words.held });
  };
}

// Buttons that copy the page's address, if it holds the state, and save the table.
function addActions(parent, model, text) {
  const act = (label, done) => {
    const button = make(parent, "button", { type: "button", class: "action" }, label);
    button.addEventListener("click", () => done(button));
  };
  if (model.get("addressed")) {
    act(text.copy_link, async (button) => {
      model.save_changes();
      await navigator.clipboard.writeText(location.href);
      button.textContent = text.copied;
    });
  }
  act(text.save_table, () => {
    const rows = [...parent.closest(".roofkit-picture").querySelectorAll("table tr")];
    const lines = rows.map((row) => [...row.cells].map((cell) => JSON.stringify(cell.textContent)).join(","));
    const file = URL.createObjectURL(new Blob([lines.join("\n")], { type: "text/csv" }));
    const link = Object.assign(document.createElement("a"), { href: file, download: "layers.csv" });
    link.click();
    URL.revokeObjectURL(file);
  });
}

function modelPicture(model, { el, box, svg, readings, width }) {
  const text = model.get("text"), units = model.get("units"), data = model.get("data");
  const after = make(el, "div"), phases = box.querySelector(".buttons");
  const verdict = make(el, "p", { class: "verdict", role: "status" });
  el.classList.add("served");
  el.prepend(box, readings, verdict, phases);
  const cells = ["first", "each", "user", "speed", "held"].map((name) => {
    const node = addReading(readings, text[`${name}_reading`]);
    return [name, node, make(node.parentNode, "small")];
  });
  addActions(phases, model, text);
  const showMemory = addMemory(after, text, units), fillTable = addTable(after, text, units);
  const note = make(after, "p", { class: "note" });
  let drawn, putLayers;

  return (state) => {
    const { words, layers, known } = state, { peak, bandwidth: own } = state.state;
    const { peaks, bandwidth: usual } = data.chips[known.chip], bandwidth = own || usual;
    const frame = [known.chip, peak, bandwidth].join();
    if (frame !== drawn) {
      const times = peak ? peak / peaks[16] : 1;
      const highest = times * Math.max(...[16, 8].map((bits) => peaks[bits] ?? 0));
      putLayers = drawLayers(svg, width, { bandwidth, highest }, text, units);
    }
    drawn = frame;
    putLayers(state);
    for (const [name, best, predicted] of cells) {
      [best.data, predicted.textContent] = state.cells[name] ?? [words[name], ""];
    }
    verdict.textContent = state.verdict;
    el.classList.toggle("lacking", state.memory.fits === false);
    showMemory(state);
    fillTable(state);
    note.textContent = words.note;
    const [most] = [...layers].sort((one, other) => other.share - one.share);
    set(svg, { "aria-label": fill(text.served, {
      ...known, pass: words.pass, layer: most.name, bound: boundBy(most.bound, text),
      share: percent(most.share),
    }) });
  };
}

export { figuresOf, settle, readAddress };
export default live({ controls: servedControls, settle, read: readModel, picture: modelPicture });
