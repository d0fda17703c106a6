"""Embed the live picture of a language model in a page without Jupyter."""

import json
from pathlib import Path

from jinja2 import Template

from rooflab import explore


def explorer_html():
    """Return the HTML of the picture, with its figures, style and script."""
    picture = explore.model().children[-1]
    values = {name: getattr(picture, name) for name in ("data", "state", "text", "units")}
    template = Path(__file__).with_name("pages") / "_explorer.html"
    return Template(template.read_text(encoding="utf-8")).render(
        css=picture._css,
        values=json.dumps(values, separators=(",", ":")).replace("</", "<\\/"),
        module=picture._esm.replace("export default ", "const explorer = "),
    )
