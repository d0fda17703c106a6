// All plugins of the extension. Each file's `make(shared)` returns its plugin; `shared` loads a
// package that JupyterLab shares, such as @jupyterlab/notebook.
import { make as handIn } from "./hand_in.js";
import { make as home } from "./home.js";
import { make as untouched } from "./untouched.js";

export const plugins = (shared) =>
  Promise.all([handIn, home, untouched].map((make) => make(shared)));
