"""A notebook of the course as it is downloaded: its first cell installs what it needs."""

import inspect
import re

import nbformat

from tools.sentences import sentence
from tools.site.links import relink_to_address

# A set says in words what the first cell does.
NEEDS = re.compile(r"\n\n\*This notebook needs .*")


def standalone_notebook(path, site, wheels):
    """The notebook at ``path`` as text, for a reader who may have nothing but this file.

    ``wheels`` are the names of the packages' files. They lie on the site, whose address is ``site``
    or "" where nobody knows it yet, or beside the notebook, or in a folder above it.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = NEEDS.sub("", relink_to_address(cell.source, path, site))
    first = nbformat.v4.new_code_cell(install_cell(site, wheels), id="install")
    # The code is folded: in JupyterLab by the first, in Colab by the second.
    first.metadata = {"jupyter": {"source_hidden": True}, "cellView": "form"}
    notebook.cells.insert(0, first)
    return nbformat.writes(notebook) + "\n"


def install_cell(site, wheels):
    """The code of that cell: the function below, and a call of it with its sentences."""
    sentences = {
        name: sentence(f"alone.{name}", wheels=", ".join(wheels), found="{found}")
        for name in ("begin", "nowhere", "failed")
    }
    given = [repr(f"{site}/wheels" if site else ""), repr(list(wheels))]
    given += [f"{name}={sentence!r}" for name, sentence in sentences.items()]
    call = "install_course(\n" + "".join(f"    {each},\n" for each in given) + ")"
    return f"# @title {sentence('alone.title')}\n{inspect.getsource(install_course)}\n\n{call}"


def install_course(site, wheels, begin, nowhere, failed):
    """Install the wheels of packages that are missing, found nearby or on the site."""
    import importlib.util
    import pathlib
    import subprocess
    import sys

    class NotInstalledError(ModuleNotFoundError):
        def _render_traceback_(self):  # IPython shows the sentence alone
            return [str(self)]

    missing = [wheel for wheel in wheels if not importlib.util.find_spec(wheel.split("-")[0])]
    if not missing:
        return
    here = pathlib.Path.cwd()
    for folder in (here, *here.parents[:3]):  # from a set to the folder of the kit
        if all((folder / wheel).is_file() for wheel in missing):
            found = [str(folder / wheel) for wheel in missing]
            break
    else:
        found = [f"{site}/{wheel}" for wheel in missing if site]
    if not found:
        raise NotInstalledError(nowhere)
    print(begin)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, *found], capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().rpartition("\n")[2]
        raise NotInstalledError(failed.format(found=said))
    importlib.invalidate_caches()
