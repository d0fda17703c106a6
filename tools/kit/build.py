"""Write the archive that students get.

    python -m tools.kit                 -> build/roofline-course-VERSION.zip, for a class
    python -m tools.kit --self-study    -> build/roofline-self-study-VERSION.zip

It contains only committed files listed below, so no solutions and no private questions. The
archive for self-study has no class's dates or ids, but the model answers to paragraph questions,
which the home page shows when a set is finished.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TERM_SETTINGS = "course/term.toml"
# Files and folders of the repository, and their paths in the kit.
KIT_PATHS = {
    "tools/kit/README.md": "README.md", "tools/kit/AGENTS.md": "AGENTS.md",
    "tools/kit/start.py": "start.py", "tools/kit/requirements.lock": "requirements.lock",
    "tools/kit/jupyter": ".jupyter", "tools/packages": ".packages", "LICENSE": "LICENSE",
    "course/en": "course/en", TERM_SETTINGS: TERM_SETTINGS, "exercises/en": "exercises/en",
    "exercises/README.md": "exercises/README.md",
}  # fmt: skip
# The sources of the wheels. Students don't get roofgrade.
WHEEL_SOURCES = ("pyproject.toml", "LICENSE", "roofkit", "rooflab", "roofcheck")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--self-study", action="store_true", help="include the model answers")
    self_study = parser.parse_args().self_study
    with tempfile.TemporaryDirectory() as temporary:
        print(write_archive(Path(temporary), ROOT / "build", self_study))


def write_archive(work, into, self_study=False):
    """Write the archive to ``into``, with temporary files in ``work``, and return its path."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    name = f"roofline-{'self-study' if self_study else 'course'}-{version}"
    gather_files(work / "kit" / name, self_study)
    for path in WHEEL_SOURCES:
        copy_tracked_files(path, work / "sources" / path)
    sources = [work / "sources" / folder for folder in ("", "rooflab", "roofcheck")]
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "-w", work / "kit" / name, *sources], check=True)
    into.mkdir(parents=True, exist_ok=True)
    return shutil.make_archive(into / name, "zip", work / "kit", name)


def gather_files(folder, self_study):
    """Copy everything in a kit except the wheels to a folder."""
    for path, target in KIT_PATHS.items():
        if not (self_study and path == TERM_SETTINGS):
            copy_tracked_files(path, folder / target)
    if not self_study:
        copy_class_ids(folder)
    else:
        write_model_answers(folder / "course/answers.json")


def write_model_answers(path):
    """Write the model answers to each set's paragraph questions, by grade id, as JSON."""
    # deploy/machine/install.py imports this module without roofgrade's dependencies.
    from roofgrade.course import Course
    from roofgrade.gradebook.answer_release import read_model_answers

    course = Course(ROOT)
    answers = {name: read_model_answers(course, name) for name in course.released_sets()}
    path.write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def copy_class_ids(kit):
    """Copy the class's ids, a private file that isn't committed, if course/term.toml names it."""
    ids = tomllib.loads((ROOT / TERM_SETTINGS).read_text(encoding="utf-8")).get("ids")
    if not ids:
        return
    if not (ROOT / ids).is_file():
        sys.exit(
            f"{TERM_SETTINGS} names {ids}, which doesn't exist. To create it, run "
            f"python -m roofgrade roster --ids {ids}"
        )
    (kit / ids).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / ids, kit / ids)


def copy_tracked_files(path, target):
    """Copy a committed file, or the committed files of a folder."""
    command = ["git", "ls-files", "-z", "--", path]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    files = [Path(file) for file in output.split("\0") if file]
    if not files:
        sys.exit(f"git tracks no files at {path}; build the kit from a clone of the repository")
    for file in files:
        copy = target / file.relative_to(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, copy)
