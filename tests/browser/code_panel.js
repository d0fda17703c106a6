// Return what is wrong with the open panel of code on the current slide.
() => {
  const panel = document.querySelector("#code");
  const page = document.querySelector(".slides").getBoundingClientRect();
  const box = panel.getBoundingClientRect(), lines = [...panel.querySelectorAll("pre")];
  const said = lines.map((pre) => pre.textContent.trim());
  const cells = [...Reveal.getCurrentSlide().querySelectorAll(".celltag_picture .highlight")];
  const faults = [];
  const wanted = cells.map((cell) => cell.textContent.trim());
  if (said.join() !== wanted.join()) faults.push("other code");
  if (!said.length) return faults.concat(panel.hidden ? [] : ["a panel without code"]);
  if (box.left < page.left - 1 || box.right > page.right + 1 ||
      box.top < page.top - 1 || box.bottom > page.bottom + 1) faults.push("beyond the slide");
  const wide = [panel, ...lines].some((part) => part.scrollWidth > part.clientWidth);
  if (wide) faults.push("too wide");
  // What it is on a screen of 1920 x 1080, where the slide leaves a margin of 3%.
  const size = parseFloat(getComputedStyle(lines[0]).fontSize) * 0.97 * 1.5;
  if (size < 24) faults.push(`letters of ${size} px`);
  panel.scrollTop = panel.scrollHeight;
  const last = lines.at(-1).getBoundingClientRect();
  if (last.bottom > box.bottom) faults.push("its end out of reach");
  const middle = document.elementFromPoint(box.x + box.width / 2, last.y + last.height / 2);
  if (!panel.contains(middle)) faults.push("covered");
  return faults;
}
