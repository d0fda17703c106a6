"""Put live pictures on web pages, without Jupyter or a widget manager.

A live picture is an anywidget: a module of JavaScript, and the values that it draws. Each picture
brings its values, compressed; write_modules adds the modules once, and mount.js joins them.
"""

import base64
import gzip
import hashlib
import json

from rooflab.explore.frame import HERE

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
# Values of every widget that only a widget manager uses.
UNUSED = ("layout", "tabbable", "tooltip")


def write_picture(values, modules, attributes=""):
    """Return the HTML of an anywidget with these values, and add its module to ``modules``."""
    script, style = values["_esm"], values.get("_css", "")
    name = f"live-{hashlib.sha256((script + style).encode()).hexdigest()[:12]}"
    modules[name] = {"script": script, "style": style}
    shown = {k: v for k, v in values.items() if not k.startswith("_") and k not in UNUSED}
    packed = base64.b64encode(gzip.compress(json.dumps(shown).encode(), mtime=0)).decode()
    return (
        f'<div class="live-picture" data-module="{name}"{attributes} data-values="{packed}"></div>'
    )


def mount_pictures(notebook):
    """Replace the live pictures among the outputs of a notebook by their HTML, in place.

    Their modules move to its metadata, as ``live_modules``. Widgets that need a kernel are removed.
    """
    widgets = notebook.metadata.pop("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    modules = notebook.metadata.setdefault("live_modules", {})
    for output in (output for cell in notebook.cells for output in cell.get("outputs", [])):
        view = output.get("data", {}).pop(WIDGET_VIEW, {"model_id": None})
        values = widgets.get(view["model_id"], {}).get("state", {})
        if "_esm" in values:
            output.data["text/html"] = write_picture(values, modules)


def write_modules(modules):
    """Return the HTML of modules by name, and of the script that mounts their pictures."""
    if not modules:
        return ""
    styles = dict.fromkeys(module["style"] for module in modules.values())
    parts = [f"<style>\n{style}</style>" for style in styles]
    for name, module in modules.items():
        script = module["script"].replace("</script", "<\\/script")
        parts.append(f'<script type="text/plain" class="nohighlight" id="{name}">{script}</script>')
    mount = (HERE / "mount.js").read_text(encoding="utf-8")
    parts.append(f'<script type="module" class="nohighlight">\n{mount}</script>')
    return "\n\n".join(parts)


def write_html(live, attributes=""):
    """Return HTML with a live picture of this module, for any web page.

    With ``attributes=" data-address"``, the page's address holds the state of a served model.

    >>> from rooflab import explore
    >>> page = explore.write_html(explore.ridge())
    >>> page[:25], page[-9:]
    ('<div class="live-picture"', '</script>')
    """
    names = ("data", "state", "text", "units", "_esm", "_css")
    modules = {}
    picture = write_picture({name: getattr(live, name) for name in names}, modules, attributes)
    return f"{picture}\n\n{write_modules(modules)}"
