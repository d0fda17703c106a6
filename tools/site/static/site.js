// A box that scrolls must be reached by keys too.
addEventListener("load", () => {
  for (const box of document.querySelectorAll("pre, .table-wrapper, .math-wrapper, .output")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});

// Guesses stay in this browser, and the answer quotes them. Some browsers keep nothing for files.
const guesses = {
  read(question) { try { return localStorage.getItem(`guess ${question}`) ?? ""; } catch { return ""; } },
  keep(question, guess) { try { localStorage.setItem(`guess ${question}`, guess); } catch { /* not kept */ } },
};
for (const field of document.querySelectorAll(".guess input")) {
  const { question, unit } = field.dataset, answers = document.querySelectorAll(`.fold[data-question="${question}"]`);
  const quote = () => answers.forEach((fold) => {
    const said = fold.querySelector(".guessed");
    said.textContent = field.value && said.dataset.said.replace("{guess}", `${field.value} ${unit}`);
  });
  field.value = guesses.read(question);
  field.addEventListener("input", () => { guesses.keep(question, field.value); quote(); });
  quote();
}

// A click on the head of a column sorts the chips by it, and another click turns the order.
for (const table of document.querySelectorAll(".chips table")) {
  const rows = [...table.tBodies[0].rows], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.append(...head.childNodes);
    head.replaceChildren(button);
    const value = (row) => parseFloat(row.cells[column].textContent.replace(/^.*×/, ""));
    button.addEventListener("click", () => {
      const down = head.ariaSort !== "descending";
      heads.forEach((other) => { other.ariaSort = null; });
      head.ariaSort = down ? "descending" : "ascending";
      const order = (a, b) => column ? (value(b) || -1) - (value(a) || -1)
        : b.cells[0].textContent.localeCompare(a.cells[0].textContent);
      table.tBodies[0].append(...[...rows].sort((a, b) => (down ? 1 : -1) * order(a, b)));
    });
  });
}
