// Starts the deck once its live pictures are drawn, and gives it the keys that a lecture needs.

// A printer waits for it.
window.isLaidOut = !/print-pdf/.test(location.search);

// The names of the keys in the deck's help.
const words = JSON.parse(document.querySelector("#words").textContent);

function dark(on) {
  document.querySelector("#dark").media = on ? "all" : "not all";
  document.body.dataset.jpThemeLight = String(!on);
}

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

// A formula wider than its slide becomes smaller. Hidden slides have no width.
function fitFormulas() {
  for (const formula of document.querySelectorAll(".present math[display='block'], .pdf-page math[display='block']")) {
    formula.style.fontSize = "";
    const room = formula.closest("section").clientWidth - 160, wide = formula.getBoundingClientRect().width / Reveal.getScale();
    if (wide > room) formula.style.fontSize = `${(140 * room) / wide}%`;
  }
}

addEventListener("DOMContentLoaded", async () => {
  await window.livePictures;
  // A link to a heading leads to its slide, if this deck has it.
  for (const link of document.querySelectorAll(".slides a[href^='#']")) {
    const heading = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    const slide = heading?.closest("section[id]");
    if (slide) { link.href = `#/${slide.id}`; } else { link.replaceWith(...link.childNodes); }
  }
  // A finger on a slider moves it, and not the slide.
  document.querySelectorAll(".live-picture").forEach((part) => { part.dataset.preventSwipe = ""; });
  Reveal.on("pdf-ready", () => { fit(); window.isLaidOut = true; });
  ["ready", "slidechanged", "pdf-ready"].forEach((event) => Reveal.on(event, fitFormulas));
  await Reveal.initialize({
    width: 1280, height: 720, margin: 0.03, maxScale: 4, center: false, display: "flex",
    // On a phone reveal.js would scroll, and lose the place that a link names.
    scrollActivationWidth: null, hash: true, slideNumber: "c/t",
    // Right and left reach every slide, also those below another.
    navigationMode: "linear", transition: "none", controlsTutorial: false,
    pdfSeparateFragments: false, pdfMaxPagesPerSlide: 1, plugins: [RevealNotes],
    // Each section sets its time; without a default the speaker's clock shows no pace.
    defaultTiming: 60,
    // Keys pressed in the speaker's window arrive here without a target.
    keyboardCondition: (event) => !(event.target === panel && /^Arrow(Up|Down)$/.test(event.key)),
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

// A control that has the focus keeps the keys that it understands; all others are the deck's, so that
// a clicker, which sends PageUp and PageDown, turns the slide even just after a slider was used.
const KEPT = {
  range: /^(Arrow|Home$|End$)/, number: /^(.|Arrow.*|Home|End|Backspace|Delete|Enter)$/,
  "select-one": /^(.|Arrow.*|Home|End|Enter|Escape)$/, button: /^( |Enter)$/,
};
addEventListener("keydown", (event) => {
  const control = event.target?.closest?.(".live-picture :is(input, select, button)");
  const other = event.key === "Tab" || event.ctrlKey || event.altKey || event.metaKey;
  if (!control || other || KEPT[control.type]?.test(event.key)) return;
  event.stopPropagation();
  event.preventDefault();
  leave();
  Reveal.triggerKey(event.keyCode);
}, true);
// A button that was clicked gives the space bar back, too.
addEventListener("click", (event) => { if (event.detail && event.target?.closest?.("button")) leave(); });
