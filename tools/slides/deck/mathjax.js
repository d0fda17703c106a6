// nbconvert and the widget manager expect MathJax 2, a folder of a thousand files. MathJax 3 is one
// file, and MathJax.Hub below is the part of MathJax 2 that they call.
window.MathJax = {
  tex: { inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true, tags: "ams" },
  svg: { fontCache: "local" },
  options: { enableMenu: false },  // or the Tab key stops at each formula
};
/* MathJax 3 */
MathJax.Hub = {
  Queue: ([, , element]) => MathJax.startup.promise.then(() => MathJax.typesetPromise([element])),
};
