// Lists, fields and sliders of a served model, for the pictures that passes.js computes.
// A saved page sorts the keys of its data, so the order of the lists is written here.
const LISTS = ["model", "chip", "n", "convention", "weights", "activations", "kv", "attention"];
const PHASES = ["prefill", "decode"], SLIDERS = ["batch", "prompt", "answer", "reached"];
const SCALES = { peak: 1e12, bandwidth: 1e9, goal: 1 };
const OWN = ["peak", "bandwidth"]; // figures of one's own chip; 0 means the chosen chip's
const FIELDS = [...OWN, "goal"];
const RARE = ["convention", "activations", "kv", "attention", ...OWN, "reached"];
const SHARES = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

const grouped = (value) => value.toLocaleString("en-US");
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const inUnit = (value, unit) => (value ? engineering(value) + unit : "–");

function servedControls(data, text, names = [...FIELDS, ...SLIDERS]) {
  const label = (name) => text[`choose_${name}`], wanted = (name) => names.includes(name);
  const more = (name) => (RARE.includes(name) ? text.more_choices : undefined);
  const lists = LISTS.filter((name) => name in data.choices).map((name) => list(
    name, label(name), data.choices[name], {
      shown: (value) => text[`${BITS.includes(name) ? "bits" : name}_${value}`] ?? String(value),
      enabled: (state, value) => available(data, state, name, value),
      // Another chip comes with its own figures.
      reset: name === "chip" ? { peak: 0, bandwidth: 0 } : {}, more: more(name),
    }));
  const fields = FIELDS.filter(wanted).map((name) => field(name, label(name), {
    scale: SCALES[name], more: more(name),
    usual: ({ chip }) => ({ ...data.chips[chip], peak: data.chips[chip].peaks[16], goal: "" })[name],
  }));
  const sliders = SLIDERS.filter(wanted).map((name) =>
    slider(name, label(name), () => data.stops[name] ?? SHARES, more(name)));
  const phases = buttons("phase", label("phase"), PHASES, (phase) => text[phase]);
  return [...lists, ...fields, ...sliders, phases];
}

// The words beside the sliders.
const wordsOfSliders = ({ batch, prompt, answer, reached }) => ({
  batch: grouped(batch), prompt: grouped(prompt), answer: grouped(answer), reached: `${Math.round(100 * reached)}%`,
});
