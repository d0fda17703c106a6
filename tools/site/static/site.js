// A box that scrolls must be reached by keys too.
addEventListener("load", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
