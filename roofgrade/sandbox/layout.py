"""Defines the warm Python's command and environment, and the packages' files it can see."""

import os
from pathlib import Path

import roofcheck
import roofgrade
import roofkit
import rooflab
from roofgrade.common.errors import MachineryError
from rooflab.words import LANGUAGE_VARIABLE, SOURCE_LANGUAGE

ROOFKIT, ROOFLAB, ROOFCHECK, ROOFGRADE = PACKAGES = [
    Path(package.__file__).resolve().parent for package in (roofkit, rooflab, roofcheck, roofgrade)
]
ENVIRONMENT_FILE = Path(__file__).with_name("environment.txt")
INSIDE_FOLDER = Path("sandbox/inside")
STUB_FOLDER = ROOFGRADE / INSIDE_FOLDER / "stub"
# The files of roofcheck that call a student's function and record a puzzle's program.
REAL_FILES = (
    "running/__init__.py", "running/call_student.py", "running/counting_machine.py",
    "sentences.py", "words",
)  # fmt: skip
START_CODE = (
    "import sys; sys.path.insert(0, {course!r}); "
    "from roofgrade.sandbox.inside import seal; seal.raise_limits(); "
    "from roofgrade.sandbox.inside import warm_python; warm_python.main({descriptor})"
)


def find_course_files() -> dict[Path, Path]:
    """Map each path that a notebook can import from to the real file or folder.

    ``roofkit`` and ``rooflab`` are complete. ``roofcheck`` is a stub that judges nothing, and
    ``roofgrade`` has only the code that runs inside the sandbox.
    """
    files = {Path("roofkit"): ROOFKIT, Path("rooflab"): ROOFLAB}
    files |= {"roofgrade" / INSIDE_FOLDER: ROOFGRADE / INSIDE_FOLDER}
    # With this file, the folder takes precedence over any namespace package with that name.
    files[Path("roofgrade/__init__.py")] = ROOFGRADE / INSIDE_FOLDER / "__init__.py"
    files |= {Path("roofcheck", path.name): path for path in sorted(STUB_FOLDER.iterdir())}
    return files | {Path("roofcheck", name): ROOFCHECK / name for name in REAL_FILES}


def make_command(python: str, course: str, descriptor: int) -> list[str]:
    """Return the command that starts the warm Python, which gets its orders on ``descriptor``."""
    return [python, "-I", "-c", START_CODE.format(course=course, descriptor=descriptor)]


def make_environment(home: str, cache: str, binaries: str) -> dict[str, str]:
    """Return the environment variables for the warm Python and all programs that cells start."""
    lines = ENVIRONMENT_FILE.read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#")) | {
        "PATH": f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": home,
        "IPYTHONDIR": f"{home}/.ipython",
        LANGUAGE_VARIABLE: os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE),
        "MPLCONFIGDIR": cache,
    }


def check_files(files: dict[str, bytes]):
    """Raise MachineryError if a path leads out of the notebook's folder."""
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise MachineryError(f"{name!r} is outside the submission's folder")
