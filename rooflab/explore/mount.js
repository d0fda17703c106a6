// Mounts the live pictures of a page. Each element has its compressed values and the name of its
// module, which the page contains once, as text.
const modules = {};
const load = (name) => (modules[name] ??= import(URL.createObjectURL(
  new Blob([document.getElementById(name).textContent], { type: "text/javascript" }))));

async function mount(el) {
  const packed = Uint8Array.from(atob(el.dataset.values), (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const values = await new Response(unpacked).json(), handlers = {};
  const { default: widget, readAddress } = await load(el.dataset.module);
  // The address can hold the state, so that a reader can send it.
  const addressed = "address" in el.dataset;
  if (addressed) values.state = readAddress(values.data, { ...values.state, reached: 1 }, location.hash.slice(1));
  const model = {
    get: (name) => (name === "addressed" ? addressed : values[name]),
    set(name, value) {
      values[name] = value;
      for (const handler of handlers[`change:${name}`] ?? []) handler();
    },
    on: (event, handler) => (handlers[event] ??= []).push(handler),
    off() {},
    save_changes() {
      if (addressed) history.replaceState(null, "", `#${new URLSearchParams(values.state)}`);
    },
  };
  el.replaceChildren();
  await widget.initialize?.({ model });
  await widget.render({ model, el });
}

// Decks and tests wait for it.
window.livePictures = Promise.all([...document.querySelectorAll(".live-picture")].map(mount));
