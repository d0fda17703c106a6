// What every live picture shares. A picture's own file follows in the same module and ends on
// `export default live({ sliders, choices, read, picture })`: `sliders` and `choices` name the
// traits that move, sliders with a read-out; `read` makes of the model what is shown, `picture`
// draws it once and returns what updates it.
const WIDTH = 680;
const PREFIXES = ["p", "n", "µ", "m", "", "k", "M", "G", "T", "P"];

const significant = (value, digits) => String(Number(value.toPrecision(digits)));

function engineering(value) {
  // Rounded first, so that 999.6 becomes 1 k and not 1000.
  const power = Number(value.toExponential(2).split("e")[1]);
  const step = Math.min(Math.max(Math.floor(power / 3), -4), 5);
  return `${significant(value / 1000 ** step, 3)} ${PREFIXES[step + 4]}`;
}

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, key) => values[key]);

function add(parent, name, attributes = {}, text = "") {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  set(element, attributes);
  element.textContent = text;
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

function addHatch(svg) {
  const hatch = {
    id: "roofkit-hatch", width: 9, height: 9, patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  };
  add(add(svg, "pattern", hatch), "path", { class: "hatch", d: "M4.5,0V9" });
}

function live({ sliders, choices = [], read, picture }) {
  const moving = [...sliders, ...choices];

  function render({ model, el }) {
    el.classList.add("roofkit-picture");
    const svg = add(el, "svg", { role: "img" });
    const readings = el.appendChild(document.createElement("div"));
    readings.className = "readings";
    readings.setAttribute("role", "status");
    const update = picture(model, svg, readings);

    function draw() {
      const state = read(model);
      update(state);
      // ipywidgets gives its sliders no accessible name, and their raw values are exponents of 2.
      const explorer = el.closest(".roofkit-explorer");
      explorer?.querySelectorAll(".noUi-handle").forEach((handle, i) => {
        const name = sliders[i];
        set(handle, { "aria-label": model.get("text")[name], "aria-valuetext": state.words[name] });
      });
      // Nor does it say which of several buttons is pressed.
      explorer?.querySelectorAll(".widget-toggle-buttons").forEach((group, i) => {
        set(group, { role: "group", "aria-label": model.get("text")[choices[i]] });
        for (const button of group.querySelectorAll("button")) {
          set(button, { "aria-pressed": button.textContent === state.words[choices[i]] });
        }
      });
    }

    draw();
    for (const name of moving) model.on(`change:${name}`, draw);
    // Only once the picture is seen are its sliders on the page and do its texts have a length.
    const seen = new IntersectionObserver(draw);
    seen.observe(el);
    return () => {
      seen.disconnect();
      for (const name of moving) model.off(`change:${name}`, draw);
    };
  }

  // Once per model, not per view: the read-outs are values that labels beside the sliders show.
  function initialize({ model }) {
    const write = () => {
      const { words } = read(model);
      for (const name of sliders) model.set(`${name}_readout`, words[name]);
    };
    write();
    for (const name of moving) model.on(`change:${name}`, write);
    return () => moving.forEach((name) => model.off(`change:${name}`, write));
  }

  return { initialize, render };
}
