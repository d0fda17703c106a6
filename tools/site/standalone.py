"""Prepare a notebook for download: its first cell installs the packages that it needs."""

import inspect
import re

import nbformat

from tools.sentences import sentence
from tools.site.links import relink_to_address

# The paragraph of a problem set that says where its packages come from.
NEEDS = re.compile(r"\n\n\*This notebook needs .*")


def prepare_download(path, site, wheels):
    """Return the notebook at ``path`` as text, for a reader who may have only this file.

    ``wheels`` lists the packages' file names. The first cell looks for them in the notebook's
    folder, in the three folders above it, and at the site's URL ``site`` unless that is "".
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = NEEDS.sub("", relink_to_address(cell.source, path, site))
    first = nbformat.v4.new_code_cell(write_install_cell(site, wheels), id="install")
    # The first key folds the code in JupyterLab, the second in Colab.
    first.metadata = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    notebook.cells.insert(0, first)
    return nbformat.writes(notebook) + "\n"


def write_install_cell(site, wheels):
    """Return the code of the first cell: `install_course` and a call to it."""
    names = ("begin", "nowhere", "failed", "reload")
    values = {"wheels": ", ".join(wheels), "found": "{found}"}
    arguments = {"site": f"{site}/wheels" if site else "", "wheels": list(wheels)}
    arguments |= {name: sentence(f"alone.{name}", **values) for name in names}
    lines = [f"    {name}={value!r},\n" for name, value in arguments.items()]
    code = f"{inspect.getsource(install_course)}\n\ninstall_course(\n{''.join(lines)})"
    return f"# @title {sentence('alone.title')}\n{code}"


def install_course(site, wheels, begin, nowhere, failed, reload):
    """Install the missing packages from wheels nearby or on the site."""
    import importlib.util
    import pathlib
    import subprocess
    import sys

    class NotInstalledError(ModuleNotFoundError):
        def _render_traceback_(self):  # IPython shows only the sentence
            return [str(self)]

    missing = [wheel for wheel in wheels if not importlib.util.find_spec(wheel.split("-")[0])]
    if not missing:
        return
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents[:3]):  # from a set up to the kit's folder
        if all((folder / wheel).is_file() for wheel in missing):
            sources = [str(folder / wheel) for wheel in missing]
            break
    else:
        sources = [f"{site}/{wheel}" for wheel in missing if site]
    if not sources:
        raise NotInstalledError(nowhere)
    print(begin)
    shows_sliders = importlib.util.find_spec("anywidget")  # JupyterLab loads it with its page
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *sources], capture_output=True, text=True)
    if done.returncode:
        raise NotInstalledError(failed.format(found=done.stderr.strip().rpartition("\n")[2]))
    importlib.invalidate_caches()
    if not shows_sliders:
        print(reload)
