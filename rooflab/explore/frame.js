// Shared by all interactive figures. A figure's own file follows in the same module and ends with
// `export default live({ sliders, choices, choose, read, picture })`: `sliders` and `choices` name the
// traits that change, and sliders have a readout; `choose` adapts the sliders to a button's choice;
// `read` computes the display from the model; `picture` draws it once and returns its updater.
const WIDTH = 680;
const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];

const significant = (value, digits) => String(Number(value.toPrecision(digits)));

function engineering(value) {
  // The value is rounded first, so 999.6 becomes 1 k and not 1000.
  const power = Number(value.toExponential(2).split("e")[1]);
  const step = Math.min(Math.max(Math.floor(power / 3), -4), 5);
  return `${significant(value / 1000 ** step, 3)} ${PREFIXES[step + 4]}`;
}

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, key) => values[key]);

const boundBy = (name, text) => text[name] ?? fill(text.other, { channel: name });

function add(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  const [, letter, subscript] = /^([A-Z])_([a-z]+)$/.exec(text) ?? [];
  if (subscript) {
    add(element, "tspan", { "font-style": "italic" }, letter);
    add(element, "tspan", { dy: "0.25em", "font-size": "85%" }, subscript);
  } else {
    element.textContent = text;
  }
  return parent.appendChild(element);
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

function addReading(readings, name) {
  const cell = readings.appendChild(document.createElement("div"));
  cell.appendChild(document.createElement("span")).textContent = name;
  return cell.appendChild(document.createTextNode(""));
}

function live({ sliders, choices = [], choose, read, picture }) {
  const moving = [...sliders, ...choices];

  function render({ model, el }) {
    el.classList.add("roofkit-picture");
    const svg = add(el, "svg", { role: "img" });
    const readings = el.appendChild(document.createElement("div"));
    readings.className = "readings";
    readings.setAttribute("role", "status");
    const update = picture(model, svg, readings);

    function draw() {
      const state = read(model), text = model.get("text");
      update(state);
      // ipywidgets gives its sliders no accessible name, and their raw values are exponents of 2.
      const explorer = el.closest(".roofkit-explorer");
      explorer?.querySelectorAll(".noUi-handle").forEach((handle, i) => {
        const name = sliders[i];
        set(handle, { "aria-label": text[name], "aria-valuetext": state.words[name] });
      });
      // It also does not label its buttons or mark the one that is pressed.
      explorer?.querySelectorAll(".widget-toggle-buttons").forEach((buttons, place) => {
        const name = choices[place];
        set(buttons, { role: "group", "aria-label": text[name] });
        buttons.querySelectorAll("button").forEach((button, i) =>
          set(button, { "aria-pressed": i === model.get(name) }));
      });
    }

    draw();
    for (const name of moving) model.on(`change:${name}`, draw);
    // Before the figure is visible, its sliders are not on the page and its texts have no length.
    const seen = new IntersectionObserver(draw);
    seen.observe(el);
    return () => {
      seen.disconnect();
      for (const name of moving) model.off(`change:${name}`, draw);
    };
  }

  // Runs once for a model, which may have several views. Labels next to the sliders show readouts.
  function initialize({ model }) {
    const write = () => {
      const { words } = read(model);
      for (const name of sliders) model.set(`${name}_readout`, words[name]);
    };
    const fit = () => choose(model);
    write();
    // This listener comes first, because a choice may move a slider.
    if (choose) for (const name of choices) model.on(`change:${name}`, fit);
    for (const name of moving) model.on(`change:${name}`, write);
    return () => {
      if (choose) choices.forEach((name) => model.off(`change:${name}`, fit));
      moving.forEach((name) => model.off(`change:${name}`, write));
    };
  }

  return { initialize, render };
}
