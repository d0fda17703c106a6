"""The live picture of a language model on a page that needs neither Jupyter nor a host."""

import json

from rooflab import explore

# Markdown takes each part as it is, up to its end, if a blank line stands before it. The model is
# what anywidget gives a picture in a notebook.
PAGE_PARTS = """
<div class="roofkit-explorer"><div id="explorer"></div></div>

<style>{css}</style>

<script type="application/json" class="nohighlight" id="explorer-values">{values}</script>

<script type="module" class="nohighlight">
{module}
const values = JSON.parse(document.getElementById("explorer-values").textContent), handlers = {{}};
const model = {{
  get: (name) => values[name],
  set(name, value) {{
    values[name] = value;
    for (const handler of handlers[`change:${{name}}`] ?? []) handler();
  }},
  on: (event, handler) => (handlers[event] ??= []).push(handler),
  off() {{}},
  save_changes() {{}},
}};
explorer.render({{ model, el: document.getElementById("explorer") }});
</script>
"""


def list_left_out():
    """Why a model or a chip is not in the lists, a sentence each."""
    return list(explore.model().left_out.values())


def explorer_html():
    """The part of the page as HTML: its figures, its style and its script."""
    picture = explore.model().children[-1]
    values = {name: getattr(picture, name) for name in ("data", "state", "text", "units")}
    return PAGE_PARTS.format(
        css=picture._css,
        values=json.dumps(values, separators=(",", ":")).replace("</", "<\\/"),
        module=picture._esm.replace("export default ", "const explorer = "),
    )
