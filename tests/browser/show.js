// Render a live picture without JupyterLab, and return what it shows in each state.
async ([source, { state, ...values }, states]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: widget } = await import(url);
  let draw;
  const model = {
    get: (name) => (name === "state" ? state : values[name]),
    on: (_, listener) => { draw = listener; }, off: () => {},
  };
  const el = document.body.appendChild(document.createElement("div"));
  widget.render({ model, el });
  const all = (selector, read) => [...el.querySelectorAll(selector)].map(read);
  const text = (node) => node.textContent;
  return states.map((changed) => {
    state = { ...state, ...changed };
    draw();
    const paths = {};
    for (const path of el.querySelectorAll("path[class]")) {
      const name = path.getAttribute("class").replace(" waits", "");
      (paths[name] ??= []).push(path.getAttribute("d"));
    }
    const place = (selector) => el.querySelector(selector)?.getAttribute("transform");
    return {
      paths, kernel: place("path.kernel"), best: place("g:has(> path.best)"),
      waits: all("path.waits", (path) => path.classList[0]), binds: all("text.binds", text),
      texts: all("svg > text", text), ticks: all("svg g:not(.in-turn) text", text), words: all(".length b", text),
      readings: all(".readings > div", (node) => node.lastChild.data),
      label: el.querySelector("svg").getAttribute("aria-label"),
    };
  });
}
