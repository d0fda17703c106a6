"""Which files the warm Python sees of the packages, and the settings that it starts with."""

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
INSIDE_FOLDER = Path("sandbox/inside")
STUB_FOLDER = ROOFGRADE / INSIDE_FOLDER / "stub"
# It takes these files of roofcheck to call a function and to record a puzzle, with their words.
REAL_FILES = (
    "running/__init__.py", "running/call_student.py", "running/counting_machine.py", "sentences.py", "words",
)  # fmt: skip
START_CODE = (
    "import sys; sys.path.insert(0, {course!r}); "
    "from roofgrade.sandbox.inside import seal; seal.raise_limits(); "
    "from roofgrade.sandbox.inside import warm_python; warm_python.main({descriptor})"
)


def find_course_files() -> dict[Path, Path]:
    """What a notebook can import of the packages, and where each part really lies.

    ``roofkit`` and ``rooflab`` are there as they are, ``roofcheck`` as a stub that judges nothing,
    and of ``roofgrade`` only what runs inside.
    """
    found = {Path("roofkit"): ROOFKIT, Path("rooflab"): ROOFLAB}
    found |= {"roofgrade" / INSIDE_FOLDER: ROOFGRADE / INSIDE_FOLDER}
    # Python prefers a folder with this file to any without, wherever it stands on the path.
    found[Path("roofgrade/__init__.py")] = ROOFGRADE / INSIDE_FOLDER / "__init__.py"
    found |= {Path("roofcheck", path.name): path for path in sorted(STUB_FOLDER.iterdir())}
    return found | {Path("roofcheck", name): ROOFCHECK / name for name in REAL_FILES}


def make_command(python: str, course: str, descriptor: int) -> list[str]:
    """Starts the warm Python, which is told what to do over ``descriptor``."""
    return [python, "-I", "-c", START_CODE.format(course=course, descriptor=descriptor)]


def make_environment(home: str, cache: str, binaries: str) -> dict[str, str]:
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
        LANGUAGE_VARIABLE: os.environ.get(LANGUAGE_VARIABLE, SOURCE_LANGUAGE),
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
        # A thread's own heap would take 64 MB of the addresses that a process may have.
        "MALLOC_ARENA_MAX": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        # There is no network to wait for.
        "PIP_NO_INDEX": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def check_files(files: dict[str, bytes]) -> dict[str, bytes]:
    """Files by their paths below the notebook's folder. Raises MachineryError for any other."""
    for name in files:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise MachineryError(f"{name!r} does not lie below the submission's folder")
    return files
