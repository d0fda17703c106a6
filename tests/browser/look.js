// What a person sees of the current slide of a deck, with all its fragments shown.
() => {
  const slide = Reveal.getCurrentSlide(), scale = Reveal.getScale();
  const page = document.querySelector(".slides").getBoundingClientRect();
  const found = { id: slide.id, small: [], outside: [], alone: [] };
  // What a pixel here is on a screen of 1920 x 1080, where the slide leaves a margin of 3%.
  const projected = (0.97 * 1.5) / scale;
  const hidden = ".notes, math";
  const judge = (pixels, what) => {
    const size = pixels * projected;
    if (size < 23.9) found.small.push(`${what}: ${size.toFixed(1)}`);
  };
  for (const part of slide.querySelectorAll("*")) {
    const box = part.getBoundingClientRect(), style = getComputedStyle(part);
    const unseen = !box.width || !box.height || style.visibility === "hidden";
    if (unseen || part.closest(hidden)) continue;
    if (box.left < page.left - 1 || box.right > page.right + 1 || box.bottom > page.bottom + 1) {
      found.outside.push(`${part.tagName} ${part.textContent.trim().slice(0, 40)}`);
    }
    const svg = part.ownerSVGElement, text = [...part.childNodes].find(
      (node) => node.nodeType === 3 && node.data.trim());
    // A subscript is as large as what it stands beside allows.
    if (text && !["SUB", "SUP", "tspan"].includes(part.tagName)) {
      const zoom = svg ? svg.getBoundingClientRect().width / svg.viewBox.baseVal.width : scale;
      judge(parseFloat(style.fontSize) * zoom, text.data.trim().slice(0, 30));
    }
    if (part.tagName === "IMG") {
      const drawing = decodeURIComponent(part.src);
      const [, , width, height] = drawing.match(/viewBox="([\d. ]+)"/)[1].split(" ").map(Number);
      const zoom = Math.min(box.width / width, box.height / height);
      // matplotlib writes glyphs of size 100, scaled; a subscript's are smaller.
      const scales = [...drawing.matchAll(/<g [^>]*scale\(([\d.]+) -[\d.]+\)/g)];
      const sizes = scales.map(([, scale]) => 100 * scale).filter((size) => size > 7.6);
      judge(Math.min(...sizes) * zoom, "a figure's text");
    }
  }
  const prose = [...slide.querySelectorAll(".jp-MarkdownCell")]
    .filter((cell) => !cell.closest(".notes") && !cell.querySelector(".celltag_answer"))
    .map((cell) => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll("table, pre, math").forEach((part) => part.remove());
      return copy.textContent;
    });
  found.words = prose.join(" ").split(/\s+/).filter((word) => /\w/.test(word)).length;
  found.heading = slide.querySelector("h1, h2, h3, h4")?.textContent ?? "";
  const shown = [...slide.querySelectorAll("img, svg, math, table, pre, p, li")].filter(
    (part) => part.getBoundingClientRect().height && !part.closest(".notes"));
  if (!shown.length && !slide.querySelector("h1")) found.alone.push("nothing but its heading");
  found.text = [...slide.querySelectorAll(".jp-RenderedText")].map((part) => part.textContent).join();
  return found;
}
