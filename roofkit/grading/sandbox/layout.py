"""Which files the warm Python sees of the course, and the settings that it starts with."""

import os
from pathlib import Path

import roofkit
from roofkit.grading.errors import MachineryError

ROOFKIT = Path(roofkit.__file__).resolve().parent
INSIDE = Path("grading/sandbox/inside")
STUB = INSIDE / "stub"
# Of roofkit.check, what it takes to call a function and to record a puzzle.
REAL = ("calling.py", "programs.py", "words.py")
START = (
    "import sys; sys.path.insert(0, {course!r}); "
    "from roofkit.grading.sandbox.inside import warm; warm.main({descriptor})"
)


def course() -> dict[Path, Path]:
    """What of roofkit a notebook can import, as paths below roofkit, and where each really lies.

    That is everything but what judges: ``roofkit.check`` is the stub, and of ``roofkit.grading``
    only what runs inside is there.
    """
    hidden = {"check", "grading"}
    found = {Path(path.name): path for path in sorted(ROOFKIT.iterdir()) if path.name not in hidden}
    found[INSIDE] = ROOFKIT / INSIDE
    for path in sorted((ROOFKIT / STUB).iterdir()):
        found[Path("check", path.name)] = path
    for name in REAL:
        found[Path("check", name)] = ROOFKIT / "check" / name
    return found


def command(python: str, course: str, descriptor: int) -> list[str]:
    """Starts the warm Python, which is told what to do over ``descriptor``."""
    return [python, "-I", "-c", START.format(course=course, descriptor=descriptor)]


def variables(home: str, cache: str, binaries: str) -> dict[str, str]:
    """The environment of the warm Python, and of everything that a cell starts."""
    return {
        "PATH": f"{binaries}{os.pathsep}/usr/bin{os.pathsep}/bin",
        "HOME": home,
        "IPYTHONDIR": f"{home}/.ipython",
        "USER": "student",
        "LOGNAME": "student",
        "LANG": "C.UTF-8",
        "NBGRADER_EXECUTION": "autograde",
        "ROOFKIT_ANSWERS": "",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "MPLCONFIGDIR": cache,
        # As ipykernel sets them.
        "TERM": "xterm-color",
        "CLICOLOR": "1",
        "FORCE_COLOR": "1",
        "CLICOLOR_FORCE": "1",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "JPY_PARENT_PID": "1",
        # A thread in the warm Python would not outlive the fork.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        # There is no network to wait for.
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def checked(files: dict[str, bytes]) -> dict[str, bytes]:
    """Files by their paths below the notebook's folder. Raises MachineryError for any other."""
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise MachineryError(f"{name!r} does not lie below the submission's folder")
    return files
