// Render the picture of several chips without JupyterLab, and return what it shows at each setting.
async ([source, state, settings]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const widget = (await import(url)).default;
  const values = { ...state }, handlers = {};
  const model = {
    get: (name) => values[name],
    set(name, value) {
      if (values[name] === value) return;
      values[name] = value;
      for (const handler of handlers[`change:${name}`] ?? []) handler();
    },
    on: (event, handler) => (handlers[event] ??= []).push(handler),
    off: () => {},
  };
  document.body.innerHTML = "<div></div>";
  const el = document.body.firstChild;
  widget.initialize({ model });
  widget.render({ model, el });
  const all = (selector, read) => [...el.querySelectorAll(selector)].map(read);
  return settings.map(([topology, ...sliders]) => {
    model.set("topology", topology);
    ["n", "D", "B"].forEach((name, i) => model.set(name, sliders[i]));
    return {
      words: ["n", "D", "B"].map((name) => model.get(`${name}_readout`)),
      last: model.get("last"),
      grid: el.querySelector("g path.grid").getAttribute("d"),
      ticks: all("g text", (node) => node.textContent),
      bars: ["math", "memory", "link"].map((name) => {
        const bar = el.querySelector(`path.${name}:not(.piece)`);
        return { d: bar.getAttribute("d"), waits: bar.classList.contains("waits") };
      }),
      bracket: el.querySelector("path.bracket").getAttribute("d"),
      pieces: ["link", "memory", "math"].map((name) =>
        el.querySelector(`path.${name}.piece`).getAttribute("d")),
      place: el.querySelector("path.place").getAttribute("d"),
      binds: all("text.binds", (node) => node.textContent),
      readings: all(".readings > div", (node) => node.lastChild.data),
      label: el.querySelector("svg").getAttribute("aria-label"),
    };
  });
}
