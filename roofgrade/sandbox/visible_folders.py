"""Which folders of the machine a submission sees: a list of what its Python needs to run.

What a teacher keeps may lie inside one of them, as a course in /usr/local/lib does for a Python
that was built there. Copies of the three packages are covered; a run that would show anything else
does not begin.
"""

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
# The system's libraries, what a cell may start with "!", and what Python's packages read there.
SYSTEM_FOLDERS = ("bin", "lib", "lib64", "share/fonts", "share/matplotlib", "share/zoneinfo")
# Of the folder that a Python or an environment is.
PYTHON_FOLDERS = ("bin", "lib", "lib64")
ENVIRONMENT = Path("/opt/environment")
PACKAGE_FOLDERS = ("dist-packages", "site-packages")


def find_python() -> str:
    """The Python to run, as the sandbox sees it."""
    if sys.prefix == sys.base_prefix:
        return os.path.realpath(sys.executable)
    return f"{ENVIRONMENT}/bin/{Path(sys.executable).name}"


def find_python_roots() -> dict[Path, Path]:
    """Where the sandbox has a Python or an environment, and where each really lies.

    An environment is mounted at one place whoever grades. Its links point to the Python that it was
    made from, which therefore stays where it is.
    """
    base, prefix = Path(sys.base_prefix), Path(sys.prefix)
    found = {base: base.resolve(), base.resolve(): base.resolve()}
    return found if prefix == base else {**found, ENVIRONMENT: prefix.resolve()}


def find_visible() -> dict[Path, Path]:
    """What is shown, by its path in the sandbox, and where it really lies."""
    found = {SYSTEM / name: SYSTEM / name for name in SYSTEM_FOLDERS}
    for root, real in find_python_roots().items():
        found |= {root / name: real / name for name in PYTHON_FOLDERS}
    if sys.prefix != sys.base_prefix:
        found[ENVIRONMENT / "pyvenv.cfg"] = Path(sys.prefix, "pyvenv.cfg")
    for folder in map(Path, site.getsitepackages()):  # Debian's lie in /usr/local, too
        if sys.prefix == sys.base_prefix or not folder.is_relative_to(sys.prefix):
            found[folder] = folder
    there = {path: real.resolve() for path, real in found.items() if real.exists()}
    return {path: real for path, real in there.items() if not _is_within(path, real, there)}


def find_package_copies() -> Iterator[Path]:
    """Where the sandbox would find copies of the packages, with all their questions."""
    found = find_visible()
    lying = {folder for real in found.values() for folder in _find_site_packages(real)}
    lying |= {Path(folder) for folder in site.getsitepackages()}
    names = [package.name for package in layout.PACKAGES]
    copies = {Path(folder, name).resolve() for folder in lying for name in names}
    for copy in filter(Path.is_dir, {*copies, *layout.PACKAGES}):
        for path, real in found.items():
            if copy.is_relative_to(real):
                yield path / copy.relative_to(real)


def check_private(private: Iterable[Path]):
    """Raises MachineryError if any of these folders and files would be shown, and says which."""
    own = os.environ.get(QUESTIONS_VARIABLE)
    # Beside a package that is no copy stand the solutions.
    beside = [one.parent for one in layout.PACKAGES if one.parent.name not in PACKAGE_FOLDERS]
    for folder in (*private, *([Path(own)] if own else []), *beside):
        for shown in find_visible().values():
            if folder.resolve().is_relative_to(shown):
                raise MachineryError(sentence("sandbox.shown", folder=folder, shown=shown))


def _is_within(path, real, others):
    """Whether a folder is shown already, as a part of another, under the same path."""
    return any(
        path != other and path.is_relative_to(other) and real == whole / path.relative_to(other)
        for other, whole in others.items()
    )


def _find_site_packages(folder):
    """Those of Pythons and environments in a folder of libraries, or the folder itself."""
    for name in PACKAGE_FOLDERS:
        yield from [folder] if folder.name == name else []
        yield from (*folder.glob(f"*/{name}"), *folder.glob(f"*/lib*/*/{name}"))
