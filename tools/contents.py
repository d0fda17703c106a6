"""Write course/en/index.json: what the course holds, for the home page, hand-in and answers.

    python tools/contents.py            write it
    python tools/contents.py --check    exit 1 unless it is up to date

It is read off the built notebooks and the texts, so nothing in it is typed twice. How long a
lecture takes is reckoned from what stands in it; how long a set takes stands in its text.
"""

import argparse
import itertools
import json
import re
import sys
from pathlib import Path

import nbformat
import yaml

from roofcheck.cells import asked
from roofgrade.pages.lessons import Lessons

ROOT = Path(__file__).resolve().parents[1]
INDEX = "course/en/index.json"
# A reader's pace, in words and minutes; lectures are rounded to STEP minutes.
WORDS_A_MINUTE, A_GUESS, A_CHECK, A_FIGURE, STEP = 140, 1, 2, 0.5, 5
NUMBERS = r"\d+(?:(?:, | and | to )\d+)*"
OPENED = re.compile(rf"\b(?:questions? ({NUMBERS})|all \w+ questions) of \[problem set (\d+)\]")


def main(argv=None, root=ROOT):
    """Write or check the index of the course under ``root``; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if it differs")
    check = parser.parse_args(argv).check
    path, made = root / INDEX, json.dumps(contents(root), indent=1, ensure_ascii=False) + "\n"
    if path.is_file() and path.read_text(encoding="utf-8") == made:
        return 0
    if check:
        print(f"{INDEX} is not what the texts give; to fix: make build", file=sys.stderr)
        return 1
    path.write_text(made, encoding="utf-8")
    print(f"{INDEX}: written")
    return 0


def contents(root):
    """Every lecture and problem set in its order, as JSON has it."""
    lectures = [_lecture(path, root) for path in sorted((root / "course/en").glob("*.ipynb"))]
    headings = {cell: place for each in lectures for cell, place in each.pop("headings").items()}
    lessons = Lessons(root)
    sets = [
        _problem_set(path, root, headings, lessons)
        for path in sorted((root / "exercises/en").glob("*/*.ipynb"))
    ]
    for lecture, found in itertools.product(lectures, sets):
        numbers = lecture["opens"].get(found["id"])
        for question in found["questions"] if numbers is not None else ():
            # "All ten questions" stands without their numbers.
            if not numbers or question["number"] in numbers:
                question["lecture"] = lecture["id"]
    for lecture in lectures:
        lecture["opens"] = {
            found["id"]: numbers
            for found in sets
            if (numbers := sorted(question["number"] for question in found["questions"]
                                  if question.get("lecture") == lecture["id"]))
        }  # fmt: skip
    return {"lectures": lectures, "sets": sets}


def _lecture(path, root):
    cells = nbformat.read(path, as_version=4).cells
    title, text = _opening(cells[0].source)
    name = f"l{path.name[:2]}"
    asks = [found for cell in cells if (found := _asked(cell))]
    return {
        "id": name,
        "file": path.relative_to(root).as_posix(),
        "number": int(path.name[:2]),
        "title": title,
        "about": text,
        "minutes": _minutes(cells, asks),
        "asks": list(dict.fromkeys(found.question for found in asks if found.call == "check")),
        "guesses": list(dict.fromkeys(found.question for found in asks if found.call == "predict")),
        "opens": {
            f"ps{each}": _counted(numbers)
            for cell in cells if cell.id == f"{name}-homework"
            for numbers, each in OPENED.findall(cell.source)
        },
        "headings": _headings(cells, name),
    }  # fmt: skip


def _minutes(cells, asks):
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    figures = sum(bool(cell.get("outputs")) and not _asked(cell) for cell in cells)
    guesses = sum(found.call == "predict" for found in asks)
    minutes = words / WORDS_A_MINUTE + figures * A_FIGURE + guesses * A_GUESS
    minutes += A_CHECK * sum(found.call == "check" for found in asks)
    return STEP * round(minutes / STEP)


def _headings(cells, name):
    """The lecture and the heading above each cell, by the cell's id."""
    found, heading = {}, ""
    for cell in cells:
        if cell.cell_type == "markdown" and (told := re.match(r"#+ (.*)", cell.source)):
            heading = told[1]
        found[cell.id] = {"lecture": name, "cell": cell.id, "heading": heading}
    return found


def _problem_set(path, root, headings, lessons):
    cells = nbformat.read(path, as_version=4).cells
    name = path.stem
    title, _ = _opening(cells[0].source)
    header = yaml.safe_load(_text(root, name).split("---\n")[1])
    questions = [
        found | {"lesson": headings.get(lessons.against(found["id"]))}
        for found in _questions(cells)
    ]
    return {
        "id": name,
        "file": path.relative_to(root).as_posix(),
        "number": int(name.removeprefix("ps")),
        "title": title.partition(": ")[2] or title,
        "minutes": header["minutes"],
        "points": sum(found["points"] for found in questions),
        "lectures": _lectures(cells[0].source),
        "questions": questions,
    }


def _lectures(source):
    """The lectures that a set's first sentence names and links, some as a range."""
    sentence = re.sub(r"\]\([^)]*\)|\[", "", re.search(r"^On lectures? .*", source, re.M)[0])
    return [f"l{number:02}" for number in _counted(sentence.partition(". ")[0])]


def _questions(cells):
    """The questions of a set: those that are checked, and paragraphs, which have no id."""
    number, title, place = 0, "", ""
    for cell in cells:
        heading = re.match(r"## (\d+)\. (.*?) \(", cell.source)
        if cell.cell_type == "markdown" and heading:
            number, title, place = int(heading[1]), heading[2], cell.id
        known = cell.metadata.get("nbgrader", {})
        if known.get("grade"):
            found = _asked(cell)
            yield {
                "id": found.question if found else cell.id,
                "number": number,
                "title": title,
                "points": known["points"],
                "text": place,
                "cell": cell.id,
                "paragraph": not found,
            }


def _text(root, name):
    return next((root / "solutions/text").glob(f"{name}-*.md")).read_text(encoding="utf-8")


def _asked(cell):
    return asked(cell.source) if cell.cell_type == "code" else None


def _opening(source):
    """A title and the paragraph below it."""
    heading, _, text = source.partition("\n\n")
    return heading.removeprefix("# "), text.partition("\n\n")[0]


def _counted(numbers):
    """The numbers of "1, 3 and 5 to 7" in order; none of "", which stands for all."""
    found = []
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
        found += range(int(first), int(last or first) + 1)
    return found


if __name__ == "__main__":
    sys.exit(main())
