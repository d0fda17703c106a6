"""The course's home page in JupyterLab: a server extension and its page.

JupyterLab loads ``labextension/``, which ``make extension`` builds from ``lab/``. The server serves
the page from ``static/``, and ``handlers`` answers the page's requests.
"""


def _jupyter_server_extension_points():
    return [{"module": "roofcheck.home"}]


def _load_jupyter_server_extension(server):
    import json
    from pathlib import Path

    from roofcheck.home.handlers import make_handlers
    from roofcheck.home.log_filter import silence_closed_pages
    from roofcheck.home.page_data import Home

    silence_closed_pages(server.log)

    home = Home(Path(server.root_dir).expanduser())
    server.web_app.add_handlers(".*", make_handlers(server.web_app.settings["base_url"], home))
    # JupyterLab reads this from its HTML page before it activates any extension.
    page = server.web_app.settings.setdefault("page_config_data", {})
    page["roofline"] = json.dumps(home.startup_data() or {})
