"""Lists the machine's folders that a submission can see, which are those its Python needs.

One of them may contain a teacher's private files, such as a course in /usr/local/lib. Copies of the
packages are covered by empty folders. If anything else private would be visible, the run does not
start.
"""

import glob
import os
import site
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from roofcheck.tables.catalogue import QUESTIONS_VARIABLE
from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence
from roofgrade.sandbox import layout

SYSTEM = Path("/usr")
# System libraries, programs for cells to run with "!", and files that packages read.
SYSTEM_FOLDERS = ("bin", "lib", "lib64", "share/fonts", "share/matplotlib", "share/zoneinfo")
# The visible parts of a Python or an environment.
PYTHON_FOLDERS = ("bin", "lib", "lib64")
ENVIRONMENT = Path("/opt/environment")
PACKAGE_FOLDERS = ("dist-packages", "site-packages")


def find_python() -> str:
    """Return the path of the Python to run, inside the sandbox."""
    if sys.prefix == sys.base_prefix:
        return os.path.realpath(sys.executable)
    return f"{ENVIRONMENT}/bin/{Path(sys.executable).name}"


def find_python_roots() -> dict[Path, Path]:
    """Map the sandbox path of each Python and environment to its real path.

    An environment has the same path in every sandbox. Its base Python keeps its real path, since
    the environment's links point there.
    """
    base, prefix = Path(sys.base_prefix), Path(sys.prefix)
    roots = {base: base.resolve(), base.resolve(): base.resolve()}
    return roots if prefix == base else {**roots, ENVIRONMENT: prefix.resolve()}


def find_visible() -> dict[Path, Path]:
    """Map the sandbox path of each visible folder or file to its real path."""
    paths = {SYSTEM / name: SYSTEM / name for name in SYSTEM_FOLDERS}
    for root, real in find_python_roots().items():
        paths |= {root / name: real / name for name in PYTHON_FOLDERS}
    if sys.prefix != sys.base_prefix:
        paths[ENVIRONMENT / "pyvenv.cfg"] = Path(sys.prefix, "pyvenv.cfg")
    for folder in map(Path, site.getsitepackages()):  # Debian has some in /usr/local, too.
        if sys.prefix == sys.base_prefix or not folder.is_relative_to(sys.prefix):
            paths[folder] = folder
    existing = {path: real.resolve() for path, real in paths.items() if real.exists()}
    return {path: real for path, real in existing.items() if not _is_within(path, real, existing)}


def find_package_copies() -> Iterator[Path]:
    """Yield the sandbox paths of all copies of the packages, which contain the questions."""
    visible = find_visible()
    folders = {folder for real in visible.values() for folder in _find_site_packages(real)}
    folders |= {Path(folder) for folder in site.getsitepackages()}
    names = [package.name for package in layout.PACKAGES]
    copies = {Path(folder, name).resolve() for folder in folders for name in names}
    for copy in filter(Path.is_dir, {*copies, *layout.PACKAGES}):
        for path, real in visible.items():
            if copy.is_relative_to(real):
                yield path / copy.relative_to(real)


def check_private(private: Iterable[Path]):
    """Raise MachineryError if the sandbox would expose any of these folders and files."""
    questions = os.environ.get(QUESTIONS_VARIABLE)
    # A package that is not installed is in a repository, which also contains the solutions.
    parents = [package.parent for package in layout.PACKAGES]
    repositories = [folder for folder in parents if folder.name not in PACKAGE_FOLDERS]
    for folder in (*private, *([Path(questions)] if questions else []), *repositories):
        for visible in find_visible().values():
            if folder.resolve().is_relative_to(visible):
                raise MachineryError(sentence("sandbox.shown", folder=folder, shown=visible))


def _is_within(path, real, others):
    """Return whether another visible folder already contains this one at the same path."""
    return any(
        path != other and path.is_relative_to(other) and real == whole / path.relative_to(other)
        for other, whole in others.items()
    )


def _find_site_packages(folder):
    """Yield the package folders in ``folder``, or ``folder`` itself if it is one."""
    for name in PACKAGE_FOLDERS:
        yield from [folder] if folder.name == name else []
        # Unlike Path.glob, this tolerates a folder that someone deletes meanwhile.
        for pattern in (f"*/{name}", f"*/lib*/*/{name}"):
            paths = glob.iglob(pattern, root_dir=folder, include_hidden=True)
            yield from (folder / path for path in paths)
