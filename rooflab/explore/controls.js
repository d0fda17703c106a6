// Controls above a live picture. `slider`, `list`, `buttons` and `field` describe one; addControls
// puts them into a box, those with the word `more` into a fold of that name. Each part of a state has
// the name of its control.
const slider = (name, label, stops, more) => ({ name, label, stops, more, add: addSlider });
const list = (name, label, values, more = {}) => ({ name, label, values, ...more, add: addList });
const buttons = (name, label, values, shown) => ({ name, label, values, shown, add: addButtons });
const field = (name, label, more) => ({ name, label, ...more, add: addField });

// `change` receives the new values by name. Returns a function that sets all controls to a state.
function addControls(box, controls, change) {
  const fold = document.createElement("details");
  const setters = controls.map((control) => control.add(control.more ? fold : box, control, change));
  if (fold.childNodes.length) {
    fold.prepend(document.createElement("summary"));
    fold.firstChild.textContent = controls.find(({ more }) => more).more;
    box.append(fold);
  }
  return (state, words) => setters.forEach((show) => show(state, words));
}

function addLabel(box, className, label) {
  const row = make(box, "label", { class: className });
  make(row, "span", {}, label);
  return row;
}

// `stops(state)` lists the values that the slider can have in a state.
function addSlider(box, { name, label, stops }, change) {
  const row = addLabel(box, "length", label);
  const input = make(row, "input", { type: "range", min: 0, step: 1, "aria-label": label });
  const shown = make(row, "b");
  let known;
  input.addEventListener("input", () => change({ [name]: known[input.value] }));
  return (state, words) => {
    known = stops(state);
    set(input, { max: known.length - 1, "aria-valuetext": words[name] });
    input.value = known.indexOf(state[name]);
    shown.textContent = words[name];
  };
}

// `reset` has values of other controls that a choice sets, too.
function addList(box, { name, label, values, shown = String, enabled = () => true, reset }, change) {
  const input = make(addLabel(box, "choice", label), "select", { "aria-label": label });
  const options = values.map((value) => [value, make(input, "option", { value }, shown(value))]);
  input.addEventListener("change", () => change({ [name]: values[input.selectedIndex], ...reset }));
  return (state) => {
    input.selectedIndex = values.indexOf(state[name]);
    for (const [value, option] of options) option.disabled = !enabled(state, value);
  };
}

function addButtons(box, { name, label, values, shown = String }, change) {
  const group = make(box, "div", { class: "buttons", role: "group", "aria-label": label });
  make(group, "span", {}, label);
  const setters = values.map((value) => {
    const button = make(group, "button", { type: "button" }, shown(value));
    button.addEventListener("click", () => change({ [name]: value }));
    return (state) => set(button, { "aria-pressed": state[name] === value });
  });
  return (state) => setters.forEach((show) => show(state));
}

// `scale` is the field's unit; `usual(state)` is shown where the state has 0.
function addField(box, { name, label, scale = 1, usual = () => "" }, change) {
  const shape = { type: "number", min: 0, step: "any", "aria-label": label };
  const input = make(addLabel(box, "choice", label), "input", shape);
  input.addEventListener("change", () => change({ [name]: input.value * scale || 0 }));
  return (state) => {
    const value = state[name] || usual(state);
    input.value = value && significant(value / scale, 6);
  };
}
