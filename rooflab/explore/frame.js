// Shared by all live pictures. A picture's own file follows in the same module and ends with
// `export default live({ controls, settle, read, picture })`:
// - `controls(data, text)` lists its controls, made by the functions of controls.js;
// - `settle(data, state)` returns the nearest state that exists, if controls can leave it;
// - `read(model)` computes what to show, with the words of each slider's value by its name;
// - `picture(model, parts)` draws it in these parts of the page, and returns its updater.
const WIDE = 680, NARROW = 360; // pixels: a narrow page has a drawing of its own, not a smaller one
const NARROW_BELOW = 520;
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

const make = (parent, tag, attributes = {}, text = "") => {
  const node = parent.appendChild(document.createElement(tag));
  set(node, attributes);
  node.textContent = text;
  return node;
};

function addReading(readings, name) {
  const cell = make(readings, "div");
  make(cell, "span", {}, name);
  return cell.appendChild(document.createTextNode(""));
}

function live({ controls, settle = (data, state) => state, read, picture }) {
  function render({ model, el }) {
    const data = model.get("data"), text = model.get("text");
    el.classList.add("roofkit-picture");
    // Keeps the controls' keys from notebooks, where they have other meanings.
    el.addEventListener("keydown", (event) => event.stopPropagation());
    el.dataset.lmSuppressShortcuts = "true";
    let drawn, showControls, update;

    function build(width) {
      el.replaceChildren();
      const box = make(el, "div", { class: "inputs" });
      showControls = addControls(box, controls(data, text), (changed) => {
        model.set("state", settle(data, { ...model.get("state"), ...changed }));
        model.save_changes();
      });
      const svg = add(el, "svg", { role: "img" });
      const readings = make(el, "div", { class: "readings", role: "status" });
      update = picture(model, { el, box, svg, readings, width });
    }

    function draw() {
      const width = el.clientWidth && el.clientWidth < NARROW_BELOW ? NARROW : WIDE;
      if (width !== drawn) build(width);
      drawn = width;
      const found = read(model);
      showControls(model.get("state"), found.words);
      update(found);
    }

    draw();
    model.on("change:state", draw);
    // Texts have no length before the picture is visible.
    const sized = new ResizeObserver(draw);
    sized.observe(el);
    return () => {
      sized.disconnect();
      model.off("change:state", draw);
    };
  }

  return { render };
}
