"""Sphinx's settings; build.py writes what it reads. No page asks another host for anything."""

from rooflab import palette

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.githubpages", "sphinx.ext.mathjax"]
language = "en"
smartquotes = False
highlight_language = "none"

nb_execution_mode = "off"
nb_ipywidgets_js = {"widgets.js": {}}
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
myst_update_mathjax = False  # mathjax.js brings its own settings
mathjax_path = "mathjax.js"

autodoc_typehints = "none"
autodoc_preserve_defaults = True
autodoc_member_order = "bysource"

html_theme = "furo"
LINKS = {
    "color-brand-primary": "var(--roofline-anchor)",
    "color-brand-content": "var(--roofline-anchor)",
}
# The names with jp are JupyterLab's, which the live pictures use.
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
        **LINKS,  # the theme has others of its own for the dark
        "figure": "invert(0.93) hue-rotate(180deg)",
    },
}
templates_path = ["templates"]
html_static_path = ["static"]
html_extra_path = ["files"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
html_favicon = "static/favicon.svg"
html_copy_source = html_show_sourcelink = html_show_copyright = False
html_use_index = html_domain_indices = False
# The summaries would be fetched, which a browser refuses between files.
html_show_search_summary = False


def list_parameters(app, what, name, obj, options, lines):
    """Write a docstring's parameters as a list; sections are not known to reStructuredText."""
    if "Parameters" not in lines:
        return
    start = lines.index("Parameters")
    end = next((i for i in range(start, len(lines)) if not lines[i]), len(lines))
    listed = [":Parameters:"]
    for line in lines[start + 2 : end]:
        parameter, colon, kind = line.partition(" : ")
        if colon and not line.startswith(" "):
            listed.append(f"  * **{parameter}**: {kind}")
        else:
            text = line.strip()
            # A sentence is about the parameter, anything else goes on about its kind.
            listed += ["", f"    {text}"] if text[0].isupper() else [f"    {text}"]
    lines[start:end] = listed


# Scripts of this kind hold JSON. A page opened from the search would mark the word in it, too.
WIDGETS = "application/vnd.jupyter.widget"


def name_parts(app, page, template, context, doctree):
    """Correct what screen readers and the search meet in folds, captions, tables and scripts."""
    for part in {"body", "furo_navigation_tree"} & context.keys():
        html = context[part].replace(' aria-label="Toggle hidden content"', "")
        html = html.replace(' role="heading">', ' role="heading" aria-level="2">')
        html = html.replace(
            f'<script type="{WIDGETS}', f'<script class="nohighlight" type="{WIDGETS}'
        )
        # An empty heading in the corner of a table would be read out as a heading.
        context[part] = html.replace('<th class="head"><p></p></th>', "<td></td>")
    for script in context["script_files"]:
        if script.attributes.get("type", "").startswith(WIDGETS):
            script.attributes["class"] = "nohighlight"


def setup(app):
    app.connect("html-page-context", name_parts, priority=900)  # once the theme has its tree
    app.connect("autodoc-process-docstring", list_parameters)
