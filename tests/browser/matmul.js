// Render the picture of a matmul without JupyterLab, and return what it shows at each setting.
async ([module, state, settings]) => {
  const { default: picture } = await import(URL.createObjectURL(
    new Blob([module], { type: "text/javascript" })));
  const listeners = [];
  const model = {
    get: (name) => state[name], set: (name, value) => { state[name] = value; },
    on: (_, listener) => listeners.push(listener), off: () => {},
  };
  const el = document.body.appendChild(document.createElement("div"));
  picture.initialize({ model });
  picture.render({ model, el });
  const paths = (name) =>
    [...el.querySelectorAll(`path.${name}`)].map((path) => path.getAttribute("d"));
  return settings.map((setting) => {
    Object.assign(state, setting);
    for (const listener of new Set(listeners)) listener();
    const texts = [...el.querySelectorAll("svg > text")].map((text) => text.textContent);
    return {
      readings: [...el.querySelector(".readings").children].map((cell) => cell.lastChild.data),
      sums: texts.slice(-12).filter((_, i) => i % 4), bars: paths("bar"), grid: paths("grid"),
      roof: paths("roof")[0], mark: paths("kernel")[0],
      kernel: el.querySelector("path.kernel").getAttribute("transform"),
      best: el.querySelector("path.best").parentNode.getAttribute("transform"),
      told: ["B", "D", "F", "tile"].map((name) => state[`${name}_readout`]),
      label: el.querySelector("svg").getAttribute("aria-label"),
    };
  });
}
