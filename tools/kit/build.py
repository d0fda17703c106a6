"""Write what students get as one archive.

    python -m tools.kit                 -> build/roofline-course-VERSION.zip, for a class
    python -m tools.kit --self-study    -> build/roofline-self-study-VERSION.zip

It holds only files that are listed here and under version control, so that no solution gets in,
nor a question that an instructor keeps. The one for who learns alone has the model answers of
paragraphs too, which the home page shows once a set is finished, and no dates or ids of a class.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TERM_SETTINGS = "course/term.toml"
# Files and folders of the repository, and where each stands in the kit.
KIT_PATHS = {
    "tools/kit/README.md": "README.md",
    "tools/kit/AGENTS.md": "AGENTS.md",
    "tools/kit/start.py": "start.py",
    "tools/kit/requirements.lock": "requirements.lock",
    "tools/kit/jupyter": ".jupyter",
    "tools/packages": ".packages",
    "LICENSE": "LICENSE",
    "course/en": "course/en",
    TERM_SETTINGS: TERM_SETTINGS,
    "exercises/en": "exercises/en",
    "exercises/README.md": "exercises/README.md",
}
# What each wheel is made from. There is none of roofgrade: students get nothing of grading.
WHEELS = {
    "roofkit": ("roofkit", "pyproject.toml", "LICENSE"),
    "rooflab": ("rooflab",),
    "roofcheck": ("roofcheck",),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--self-study", action="store_true", help="with the model answers")
    self_study = parser.parse_args().self_study
    with tempfile.TemporaryDirectory() as temporary:
        print(write_archive(Path(temporary), ROOT / "build", self_study))


def write_archive(work, into, self_study=False):
    """Write the archive into a folder, by way of a folder to work in; its path."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    name = f"roofline-{'self-study' if self_study else 'course'}-{version}"
    gather_files(work / "kit" / name, self_study)
    sources = [work / "roofkit", work / "rooflab/rooflab", work / "roofcheck/roofcheck"]
    for package, files in WHEELS.items():
        for given in files:
            copy_tracked_files(given, work / package / given)
    wheel = ["wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
    subprocess.run(
        [sys.executable, "-m", "pip", *wheel, "-w", work / "kit" / name, *sources], check=True
    )
    into.mkdir(parents=True, exist_ok=True)
    return shutil.make_archive(into / name, "zip", work / "kit", name)


def gather_files(folder, self_study):
    """Put all of a kit but its wheels into a folder."""
    for given, place in KIT_PATHS.items():
        if not (self_study and given == TERM_SETTINGS):
            copy_tracked_files(given, folder / place)
    if not self_study:
        copy_class_ids(folder)
    else:
        from tools.notebooks import model_answers

        (folder / "course/answers.json").write_text(
            model_answers.model_answers_as_json(ROOT), encoding="utf-8"
        )


def copy_class_ids(kit):
    """Put in the ids that course/term.toml names: a class's own, so no version control has them."""
    ids = tomllib.loads((ROOT / TERM_SETTINGS).read_text(encoding="utf-8")).get("ids")
    if not ids:
        return
    if not (ROOT / ids).is_file():
        sys.exit(
            f"{TERM_SETTINGS} names {ids}, which is not there: python -m roofgrade roster --ids {ids}"
        )
    (kit / ids).parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / ids, kit / ids)


def copy_tracked_files(given, target):
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
