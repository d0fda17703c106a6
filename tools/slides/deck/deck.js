// Starts the deck once everything is drawn, and gives it the keys that a lecture needs.

// Waits for all drawing, at most 5 s: a widget is lost if reveal.js moves its slide meanwhile.
async function drawn() {
  await MathJax.startup.promise;
  // The speaker's window has no style that would hide these.
  document.querySelectorAll(".notes mjx-assistive-mml").forEach((copy) => copy.remove());
  const views = document.querySelectorAll("script[type$='widget-view+json']").length;
  const until = performance.now() + 5000;
  while (document.querySelectorAll(".widget-subarea > *").length < views && performance.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

// The names of the keys in the deck's help.
const words = JSON.parse(document.querySelector("#words").textContent);

function dark(on) {
  document.querySelector("#dark").media = on ? "all" : "not all";
  document.body.dataset.jpThemeLight = String(!on);
}

// Keys pressed in the speaker's window arrive here without a target.
const slider = (event) => event.target?.closest?.(".noUi-handle");
const button = (event) => event.target?.closest?.("button");
const leave = () => {
  const active = document.activeElement;
  // The box for a slide's number or id turns slides while you type.
  if (!active?.matches(".jump-to-slide-input")) active?.blur();
};

// The code behind the visible pictures and tables, in a panel over the slide: nothing moves.
const panel = document.querySelector("#code");
function code() {
  const seen = [...Reveal.getCurrentSlide().querySelectorAll(".celltag_picture")].filter(
    (cell) => !cell.closest(".fragment:not(.visible)"));
  panel.replaceChildren(...seen.map((cell) => cell.querySelector(".highlight").cloneNode(true)));
  panel.hidden = !panel.hidden || !seen.length;
}
const close = () => { panel.hidden = true; };

// A printed script has one page, which cuts off longer text: its letters shrink until it fits.
function fit() {
  for (const script of document.querySelectorAll(".speaker-notes-pdf[data-layout=separate-page]")) {
    const height = document.querySelector(".pdf-page").clientHeight;
    for (let size = 28; script.scrollHeight > height && size > 16; size -= 1) {
      script.style.fontSize = `${size}px`;
    }
  }
}

drawn().then(async () => {
  // A link to a heading leads to its slide, if this deck has it.
  for (const link of document.querySelectorAll(".slides a[href^='#']")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const slide = heading?.closest("section[id]");
    if (slide) { link.href = `#/${slide.id}`; } else { link.replaceWith(...link.childNodes); }
  }
  // A finger on a slider moves it, and not the slide.
  document.querySelectorAll(".roofkit-explorer").forEach((part) => { part.dataset.preventSwipe = ""; });
  Reveal.on("pdf-ready", fit);
  await Reveal.initialize({
    width: 1280, height: 720, margin: 0.03, maxScale: 4, center: false, display: "flex",
    // On a phone reveal.js would scroll, and lose the place that a link names.
    scrollActivationWidth: null, hash: true, slideNumber: "c/t",
    // Right and left reach every slide, also those below another.
    navigationMode: "linear", transition: "none", controlsTutorial: false,
    pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1, plugins: [RevealNotes],
    // Each section sets its time; without a default the speaker's clock shows no pace.
    defaultTiming: 60,
    // A slider, a button or the code that has the focus keeps the keys that it understands.
    keyboardCondition: (event) =>
      !(slider(event) && /^(Arrow|Home|End)/.test(event.key)) &&
      !(event.target === panel && /^Arrow(Up|Down)$/.test(event.key)) &&
      !(button(event) && /^( |Enter)$/.test(event.key)),
  });
  Reveal.addKeyBinding({ keyCode: 67, key: "C", description: words.key_code }, code);
  Reveal.addKeyBinding({ keyCode: 68, key: "D", description: words.key_dark },
    () => dark(document.querySelector("#dark").media === "not all"));
  // Without this the arrows would go on moving a slider that is out of sight.
  Reveal.on("slidechanged", leave);
  // The next slide must not appear behind the previous one's code.
  ["slidechanged", "fragmentshown", "fragmenthidden", "overviewshown"].forEach(
    (event) => Reveal.on(event, close));
});

// A clicker sends PageUp and PageDown: they turn the slide, even just after a slider was used.
addEventListener("keydown", (event) => {
  if (slider(event) && event.key.startsWith("Page")) {
    event.stopPropagation();
    leave();
    event.key === "PageDown" ? Reveal.next() : Reveal.prev();
  }
}, true);
// A button that was clicked gives the space bar back, too.
addEventListener("click", (event) => { if (event.detail && button(event)) leave(); });
