// The passes of a language model on its chips. The costs of operations come as coefficients from
// roofkit/models/llm/count_coefficients.py. The functions they multiply match attention.py, and the
// conversion to seconds and bytes matches layers.py, generation.py and memory.py.
// tests/browser compares all values.
const CHUNK = 8192;
const triangle = (x) => (x > 0 ? (x * (x + 1)) / 2 : 0);
const total = (values, of) => values.reduce((found, value) => found + of(value), 0);

function pairsOf(fresh, cached, window) {
  if (fresh === 1) return Math.min(cached + 1, window);
  const met = triangle(cached + fresh) - triangle(cached);
  if (window === Infinity) return met;
  return met - triangle(cached + fresh - window) + triangle(cached - window);
}

function streamedKeys(fresh, cached, blocks, window) {
  const rows = fresh / blocks, streamed = blocks * cached + rows * triangle(blocks);
  if (window === Infinity) return streamed;
  const before = window - 1 - cached;
  const first = Math.min(Math.max(Math.floor(before / rows) + 1, 0), blocks);
  const late = rows * (triangle(blocks - 1) - triangle(first - 1)) - (blocks - first) * before;
  return streamed - late;
}

// The keys of a sequence that fused attention reads, once or for each block of query rows.
function crossingKeys({ shard, widths, onChip }, fresh, cached, keys, window) {
  if (fresh === 1) return keys;
  const row = widths.stream * shard.row, held = shard.head * widths.kv * Math.min(keys, window);
  if (held <= onChip) return keys;
  const blocks = Math.ceil((shard.group * fresh) / Math.max(Math.floor(onChip / (4 * row)), 1));
  return Math.max(keys, streamedKeys(fresh, cached, blocks, window));
}

// Every function of the lengths that a coefficient may multiply.
function functionsOf(served, batch, fresh, cached) {
  const { model, n, shard, attention } = served, tokens = batch * fresh;
  const found = {
    one: 1, new: fresh, tokens, rows: batch, gathered: Math.min(tokens / n, shard.vocabulary),
    touched: 1 - model.missed ** tokens, prompts: fresh === 1 ? 0 : tokens,
  };
  for (const [name, window] of [["", Infinity], ["window ", model.window]]) {
    if (!window) continue;
    const keys = Math.min(cached + fresh, fresh - 1 + window);
    const fused = attention === "flash";
    const read = fused ? crossingKeys(served, fresh, cached, keys, window) : keys;
    found[`${name}keys`] = batch * keys;
    found[`${name}read`] = batch * read;
    found[`${name}scores`] = tokens * keys;
    found[`${name}pairs`] = batch * pairsOf(fresh, cached, window);
  }
  return found;
}

function sumOf(coefficients, functions) {
  let found = 0;
  for (const name in coefficients) found += coefficients[name] * functions[name];
  return found;
}

function bytesOf(coefficients, functions, widths) {
  let found = 0;
  for (const name in coefficients) found += widths[name] * sumOf(coefficients[name], functions);
  return found;
}

function layerOf(one, { widths, peaks, links, bandwidth, reached }, functions) {
  const { name, count, on, stream } = one, moved = bytesOf(one.moved, functions, widths);
  if (on in links) {
    const [share, egress] = links[on], link = share * moved;
    const none = { flops: 0, bytes: 0, moved: 0, intensity: 0 };
    return { name, count, ...none, link, time: link / egress / reached, bound: "link" };
  }
  const flops = sumOf(one.flops, functions), peak = peaks[on];
  const bytes = moved + bytesOf(one.held, functions, widths);
  const math = flops / peak, memory = bytes / bandwidth;
  const bound = math >= memory ? "compute" : "memory", time = Math.max(math, memory) / reached;
  const intensity = bytes ? flops / bytes : 0;
  return { name, count, flops, bytes, moved, intensity, link: 0, time, bound, peak, on, stream };
}

const secondsOf = (layers) => total(layers, ({ count, time }) => count * time);

// LLM-Viewer's new token does not attend to itself.
const attendedOf = ({ viewer }, fresh, cached) =>
  (viewer && fresh === 1 ? Math.max(cached - 1, 0) : cached);

// The layers of attention itself. If there are two methods, those of the faster method.
function attentionOf(served, functions) {
  const ways = served.shard.attention[served.attention]
    .map((way) => way.map((one) => layerOf(one, served, functions)));
  return ways.reduce((first, other) => (secondsOf(first) <= secondsOf(other) ? first : other));
}

function layersOf(served, batch, fresh, cached) {
  const functions = functionsOf(served, batch, fresh, attendedOf(served, fresh, cached));
  const { narrow } = served.shard, { activations, stream } = served.widths;
  const others = (part) => served.shard[part]
    .map((one) => (2 * activations < stream && narrow[one.name]) || one)
    .map((one) => layerOf(one, served, functions));
  return [...others("before"), ...attentionOf(served, functions), ...others("after")];
}

const formatOf = ({ models, formats }, { model, convention, weights, activations, kv }) =>
  (models[model].formats ?? formats)[`${convention} ${weights} ${activations} ${kv}`];

// The model on its chips in this state, with the values of its formats.
function serve(data, state) {
  const { n, attention, convention } = state, model = data.models[state.model];
  const chip = data.chips[state.chip], times = state.peak ? state.peak / chip.peaks[16] : 1;
  const { widths, peaks } = formatOf(data, state), dtypes = Object.entries(peaks);
  return {
    model, n, attention, widths, viewer: convention !== "roofkit",
    shard: model.splits[convention][n], links: chip.links[n],
    dtypes: Object.fromEntries(
      dtypes.map(([place, dtype]) => [place, chip.dtypes[dtype] ?? dtype])),
    peaks: Object.fromEntries(dtypes.map(([place, dtype]) => [place, times * chip.peaks[dtype]])),
    bandwidth: state.bandwidth || chip.bandwidth, onChip: chip.on_chip, capacity: chip.capacity,
    // The share of its roof that every layer reaches.
    reached: state.reached ?? 1,
  };
}

function decodingSeconds(served, batch, prompt, steps) {
  if (!steps) return 0;
  // Only attention takes longer from step to step.
  const attends = (cached) =>
    secondsOf(attentionOf(served, functionsOf(served, batch, 1, attendedOf(served, 1, cached))));
  const others = secondsOf(layersOf(served, batch, 1, prompt)) - attends(prompt);
  let found = steps * others;
  for (let step = 0; step < steps; step += 1) found += attends(prompt + step);
  return found;
}

function memoryOf(served, batch, prompt, answer) {
  const { model, shard, widths, capacity } = served, held = prompt + answer - 1;
  const kept = (model.layers - model.windowed) * held +
    (model.windowed ? model.windowed * Math.min(held, model.window) : 0);
  // The operation of a pass that needs the most memory, plus the residual stream.
  const widest = (sequences, fresh, cached) => {
    const stream = widths.stream * sequences * fresh * model.hidden;
    return Math.max(...layersOf(served, sequences, fresh, cached)
      .map((layer) => layer.moved + (layer.stream ? 0 : stream)));
  };
  const fresh = Math.min(prompt, CHUNK), sequences = Math.max(Math.min(batch, CHUNK / fresh), 1);
  const found = {
    weights: total(Object.keys(widths), (name) => widths[name] * shard.weights[name]),
    cache: shard.kv * widths.kv * batch * kept,
    activations: Math.max(widest(sequences, fresh, prompt - fresh), widest(batch, 1, held - 1)),
  };
  const needed = found.weights + found.cache + found.activations;
  return { ...found, needed, capacity, fits: capacity === null ? null : needed <= capacity };
}

// All results for a state.
function figuresOf(data, state) {
  const served = serve(data, state), { batch, prompt, answer } = state;
  const context = prompt + Math.floor(answer / 2) - 1;
  const passes = {
    prefill: layersOf(served, batch, prompt, 0), decode: layersOf(served, batch, 1, context),
  };
  const first = secondsOf(passes.prefill);
  // In LLM-Viewer, the prefill does not yield a token.
  const steps = served.viewer ? answer : answer - 1;
  const decoding = decodingSeconds(served, batch, prompt, steps);
  return {
    served, context, passes, first, decoding, each: decoding / steps,
    speed: (batch * answer) / (first + decoding), memory: memoryOf(served, batch, prompt, answer),
  };
}

const BITS = ["kv", "activations", "weights"];

// Whether a value is available: a dtype may lack a peak, a number of chips a link or a split.
function available(data, state, name, value) {
  const wanted = { ...state, [name]: value }, chip = data.chips[wanted.chip];
  // Published weights come with their activations.
  if (name === "weights" && value === "published") wanted.activations = value;
  else if (name === "weights" && state.activations === "published") wanted.activations = 16;
  const model = data.models[wanted.model], split = model.splits[wanted.convention];
  if (name === "n") return value in split && value in chip.links;
  if (name === "convention") return Object.keys(split).length > 0;
  if (name === "attention") return Object.values(split)[0].attention[value] !== undefined;
  if (!BITS.includes(name)) return true;
  const format = formatOf(data, wanted);
  return Boolean(format) && Object.values(format.peaks).every((dtype) => dtype in chip.peaks);
}

// The nearest available state.
function settle(data, state) {
  const found = { ...state };
  const lacks = (name) => !available(data, found, name, found[name]);
  if (lacks("convention")) found.convention = "roofkit";
  if (lacks("attention")) found.attention = "unfused";
  if (found.weights === "published") found.activations = "published";
  else if (found.activations === "published") found.activations = 16;
  for (const names of [["activations"], ["activations", "weights"], ["kv"]]) {
    if (lacks("kv")) for (const name of names) found[name] = 16;
  }
  while (lacks("n")) found.n /= 2;
  return found;
}

// The state that an address tells, from a start; what it cannot mean is ignored.
function readAddress(data, start, address) {
  const found = { ...start };
  for (const [name, text] of new URLSearchParams(address)) {
    const known = { ...data.choices, ...data.stops, reached: SHARES, phase: PHASES }[name];
    const value = known?.find((one) => String(one) === text);
    if (value !== undefined) found[name] = value;
    if (FIELDS.includes(name) && Number(text) > 0) found[name] = Number(text);
  }
  return settle(data, found);
}
