// Lists, fields and sliders of a served model, for the figures that passes.js computes.
const NARROW = 520; // pixels
// A saved page sorts the keys of its data, so the order of the lists is written here.
const LISTS = ["model", "chip", "n", "convention", "weights", "activations", "kv", "attention"];
const PHASES = ["prefill", "decode"], SLIDERS = ["batch", "prompt", "answer", "reached"];
const SCALES = { peak: 1e12, bandwidth: 1e9 };
const OWN = ["peak", "bandwidth"]; // figures of one's own chip; 0 means the chosen chip's
const SHARES = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

const make = (parent, tag, attributes = {}, text = "") => {
  const node = parent.appendChild(document.createElement(tag));
  set(node, attributes);
  node.textContent = text;
  return node;
};
const grouped = (value) => value.toLocaleString("en-US");
const percent = (share) => `${(100 * share).toFixed(1)}%`;
const inUnit = (value, unit) => (value ? engineering(value) + unit : "–");

// Lists, fields and sliders above the figure; returns a function that sets them to a state.
function addControls(controls, below, data, text, change, names = [...OWN, ...SLIDERS]) {
  controls.className = "controls";
  for (const part of [controls, below]) {
    // Keeps these keys from notebooks and decks, where they have other meanings.
    part.addEventListener("keydown", (event) => event.stopPropagation());
    part.dataset.lmSuppressShortcuts = "true";
  }
  const labelled = (name) => {
    const label = make(controls, "label", { class: SLIDERS.includes(name) ? "length" : "choice" });
    make(label, "span", {}, text[`choose_${name}`]);
    return label;
  };
  const lists = LISTS.filter((name) => name in data.choices).map((name) => {
    const values = data.choices[name];
    const list = make(labelled(name), "select", { "aria-label": text[`choose_${name}`] });
    const options = values.map((value) => {
      const shown = text[`${BITS.includes(name) ? "bits" : name}_${value}`] ?? String(value);
      return [value, make(list, "option", { value }, shown)];
    });
    // Another chip comes with its own figures.
    const reset = name === "chip" ? { peak: 0, bandwidth: 0 } : {};
    list.addEventListener("change", () => change({ [name]: values[list.selectedIndex], ...reset }));
    return (state) => {
      list.selectedIndex = values.indexOf(state[name]);
      for (const [value, option] of options) option.disabled = !available(data, state, name, value);
    };
  });
  const owned = OWN.filter((name) => names.includes(name)).map((name) => {
    const field = make(labelled(name), "input", { type: "number", min: 0, step: "any" });
    set(field, { "aria-label": text[`choose_${name}`] });
    field.addEventListener("change", () => change({ [name]: field.value * SCALES[name] || 0 }));
    return (state) => {
      const chip = data.chips[state.chip], usual = { ...chip, peak: chip.peaks[16] }[name];
      field.value = significant((state[name] || usual) / SCALES[name], 6);
    };
  });
  const sliders = SLIDERS.filter((name) => names.includes(name)).map((name) => {
    const stops = data.stops[name] ?? SHARES, label = labelled(name);
    const written = name === "reached" ? (share) => `${Math.round(100 * share)}%` : grouped;
    const range = { type: "range", min: 0, max: stops.length - 1, step: 1 };
    const slider = make(label, "input", { ...range, "aria-label": text[`choose_${name}`] });
    const shown = make(label, "b");
    slider.addEventListener("input", () => change({ [name]: stops[slider.value] }));
    return (state) => {
      const value = state[name] ?? 1;
      slider.value = stops.indexOf(value);
      shown.textContent = written(value);
      set(slider, { "aria-valuetext": written(value) });
    };
  });
  const group = { class: "phases", role: "group", "aria-label": text.choose_phase };
  const phases = make(below, "div", group);
  const buttons = PHASES.map((phase) => {
    const button = make(phases, "button", { type: "button" }, text[phase]);
    button.addEventListener("click", () => change({ phase }));
    return (state) => set(button, { "aria-pressed": state.phase === phase });
  });
  return (state) => [...lists, ...owned, ...sliders, ...buttons].forEach((show) => show(state));
}
