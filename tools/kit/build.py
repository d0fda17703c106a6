"""Write what students get as one archive: build/roofline-course-VERSION.zip

    python tools/kit/build.py

It holds only files that are listed here and under version control, so that no solution gets in,
nor a question that an instructor keeps.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Files and folders of the repository, and where each stands in the kit.
GIVEN = {
    "tools/kit/README.md": "README.md",
    "tools/kit/start.py": "start.py",
    "tools/kit/requirements.lock": "requirements.lock",
    "LICENSE": "LICENSE",
    "course/data": "course/data",
    "course/en": "course/en",
    "course/term.toml": "course/term.toml",
    "exercises/en": "exercises/en",
    "exercises/README.md": "exercises/README.md",
}
# What each wheel is made from. There is none of roofgrade: students get nothing of grading.
WHEELS = {
    "roofkit": ("roofkit", "pyproject.toml", "LICENSE"),
    "roofcheck": ("roofcheck",),
}


def main():
    with tempfile.TemporaryDirectory() as temporary:
        print(pack(Path(temporary), ROOT / "build"))


def pack(work, into):
    """Write the archive into a folder, by way of a folder to work in; its path."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    name = f"roofline-course-{version}"
    for given, place in GIVEN.items():
        copy(given, work / "kit" / name / place)
    sources = [work / "roofkit", work / "roofcheck/roofcheck"]
    for package, files in WHEELS.items():
        for given in files:
            copy(given, work / package / given)
    wheel = ["wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [sys.executable, "-m", "pip", *wheel, "-w", work / "kit" / name, *sources], check=True
    )
    into.mkdir(parents=True, exist_ok=True)
    return shutil.make_archive(into / name, "zip", work / "kit", name)


def copy(given, target):
    """Copy a file, or a folder's files, that are under version control."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", given], cwd=ROOT, capture_output=True, text=True
    )
    files = [Path(file) for file in listed.stdout.split("\0") if file]
    if not files:
        sys.exit(f"git lists no file at {given}; the kit is made from a clone of the repository")
    for file in files:
        place = target / file.relative_to(given)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, place)


if __name__ == "__main__":
    main()
