"""The course's home in JupyterLab: a server extension, and the page that it feeds.

``make extension`` builds ``labextension/``, which JupyterLab loads, from ``lab/``. ``static/`` is
the page itself, which the server serves from the package. ``handlers`` answer it, with what
``page`` says of the course, ``sets`` of a problem set and ``times`` of a moment.
"""


def _jupyter_server_extension_points():
    return [{"module": "roofcheck.home"}]


def _load_jupyter_server_extension(server):
    import json
    from pathlib import Path

    from roofcheck.home.handlers import make_handlers
    from roofcheck.home.page_data import Home

    home = Home(Path(server.root_dir).expanduser())
    server.web_app.add_handlers(".*", make_handlers(server.web_app.settings["base_url"], home))
    # JupyterLab finds this in its page before any extension is active.
    page = server.web_app.settings.setdefault("page_config_data", {})
    page["roofline"] = json.dumps(home.startup_data() or {})
