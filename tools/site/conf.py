"""Sphinx settings for the pages that build.py writes. They load nothing from other hosts."""

import json
import re
from pathlib import Path

from rooflab import palette
from tools.web.formulas import keep_signs_beside, use_mathml

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.githubpages"]
language = "en"
smartquotes = False
highlight_language = "none"

nb_execution_mode = "off"
nb_ipywidgets_js = {}
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_math_renderer = "mathml"

autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"

html_theme = "furo"
LINKS = {
    "color-brand-primary": "var(--roofline-anchor)",
    "color-brand-content": "var(--roofline-anchor)",
}
# The live pictures use JupyterLab's variables, which start with jp.
html_theme_options = {
    "light_css_variables": {
        **palette.css_variables(),
        **LINKS,
        "figure": "none",
        "jp-layout-color0": "var(--color-background-primary)",
        "jp-ui-font-color1": "var(--color-foreground-primary)",
        "jp-ui-font-color2": "var(--color-foreground-secondary)",
        "jp-ui-font-family": "var(--font-stack)",
    },
    "dark_css_variables": {
        **palette.css_variables(dark=True),
        **LINKS,  # the theme's own dark links differ
        "figure": "invert(0.93) hue-rotate(180deg)",
    },
}
templates_path = ["templates"]
html_static_path = ["static"]
html_extra_path = ["files"]
html_css_files = ["fonts/fonts.css", "formulas.css", "site.css"]
html_js_files = ["site.js"]
html_favicon = "static/favicon.svg"
html_copy_source = html_show_sourcelink = html_show_copyright = False
# What build.py knows: descriptions, cards, sources, author, date and repository.
html_context = json.loads(Path(__file__).with_name("context.json").read_text(encoding="utf-8"))
html_baseurl = html_context["site"]
html_additional_pages = {"404": "404.html"}
html_use_index = html_domain_indices = False
# Search would fetch summaries, which browsers block on pages opened as files.
html_show_search_summary = False


def list_parameters(app, what, name, obj, options, lines):
    """Turn a docstring's Parameters section into a list in reStructuredText."""
    if "Parameters" not in lines:
        return
    start = lines.index("Parameters")
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    items = "\n".join(lines[start + 2 : end])
    items = re.sub(r"^(\S.*?)(?: : |$)", r"  * **\1**: ", items, flags=re.M)
    # A capital starts a new paragraph about the parameter.
    items = re.sub(r"^ +(?=[A-Z])", "\n    ", items, flags=re.M)
    lines[start:end] = [":Parameters:", *items.split("\n")]


def correct_page(app, page, template, context, doctree):
    """Fix folds, captions and tables for screen readers, and lines broken beside a formula."""
    # The theme has a viewport of its own.
    context["metatags"] = re.sub('<meta name="viewport"[^>]*>', "", context.get("metatags", ""))
    for part in {"body", "furo_navigation_tree"} & context.keys():
        html = context[part].replace(' aria-label="Toggle hidden content"', "")
        html = html.replace(' role="heading">', ' role="heading" aria-level="2">')
        # A screen reader would announce the empty corner of a table as a heading.
        context[part] = keep_signs_beside(
            html.replace('<th class="head"><p></p></th>', "<td></td>")
        )


def setup(app):
    use_mathml(app)
    app.connect("html-page-context", correct_page, priority=900)  # after the theme builds its tree
    app.connect("autodoc-process-docstring", list_parameters)
