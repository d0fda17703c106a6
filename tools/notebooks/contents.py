"""Write what course/en/index.json, course/README.md and exercises/README.md list of the course.

    python -m tools.notebooks.contents            write it
    python -m tools.notebooks.contents --check    exit 1 unless it is up to date

The index is for the home page, hand-in and answers. Nothing in it or in the tables of the READMEs
is typed twice: they are read off the built lectures and the texts of the problem sets. How long a
lecture takes is reckoned from what stands in it; how long a set takes stands in its text.
"""

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import nbformat

from roofcheck.cells import question_call
from roofcheck.home.times import format_length
from roofgrade.pages.lesson_finder import LessonFinder
from tools.notebooks.problem_sets import homework_sentence, number_ranges, read_sets

ROOT = Path(__file__).resolve().parents[2]
INDEX = "course/en/index.json"
# A reader's pace, in words and minutes; lectures are rounded to STEP minutes.
WORDS_A_MINUTE, GUESS_MINUTES, CHECK_MINUTES, FIGURE_MINUTES, MINUTES_STEP = 140, 1, 2, 0.5, 5
LECTURES_PAGE = ("lecture", "its question", "opens")
SETS_PAGE = ("set", "after lectures", "about", "questions", "points", "time")
TABLE_MARKS = re.compile(r"(?<=<!-- made by make build -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main(argv=None, root=ROOT):
    """Write or check what lists the course under ``root``; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if any differs")
    check = parser.parse_args(argv).check
    sets = read_sets(root)
    found = describe_course(root, sets)
    lectures = [_lecture_row(each, sets) for each in found["lectures"]]
    made = {
        INDEX: json.dumps(found, indent=1, ensure_ascii=False) + "\n",
        "course/README.md": _replace_table(root / "course/README.md", LECTURES_PAGE, lectures),
        "exercises/README.md": _replace_table(
            root / "exercises/README.md", SETS_PAGE, map(_set_row, sets)
        ),
    }
    stale = [name for name, text in made.items() if not _has_text(root / name, text)]
    for name in stale:
        if check:
            print(f"{name} is not what the texts give; to fix: make build", file=sys.stderr)
        else:
            (root / name).write_text(made[name], encoding="utf-8")
            print(f"{name}: written")
    return int(check and bool(stale))


def _has_text(path, text):
    return path.is_file() and path.read_text(encoding="utf-8") == text


def describe_course(root, sets):
    """Every lecture and problem set in its order, as JSON has it."""
    lectures = [
        _describe_lecture(path, root) for path in sorted((root / "course/en").glob("*.ipynb"))
    ]
    headings = {cell: place for each in lectures for cell, place in each.pop("headings").items()}
    lessons = LessonFinder(root)
    sets = [asdict(each) for each in sets]
    for question in (question for each in sets for question in each["questions"]):
        question["lesson"] = headings.get(lessons.find_cell(question["id"]))
    return {"lectures": lectures, "sets": sets}


def _replace_table(path, head, rows):
    """A document with this table between its two marks."""
    text = path.read_text(encoding="utf-8")
    if len(TABLE_MARKS.findall(text)) != 1:
        sys.exit(f"{path}: needs one <!-- made by make build --> with <!-- end --> below its table")
    lines = [head, ["---"] * len(head), *rows]
    table = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    return TABLE_MARKS.sub(lambda _: table, text)


def _lecture_row(lecture, sets):
    link = f"[{lecture['number']}. {lecture['title']}]({lecture['file'].removeprefix('course/')})"
    question = lecture["about"].rpartition("?")[0] + "?"
    return link, question, homework_sentence(lecture["number"], sets, "..")


def _set_row(each):
    link = f"[{each.id}]({each.file.removeprefix('exercises/')})"
    lectures = number_ranges([int(name.removeprefix("l")) for name in each.lectures])
    return link, lectures, each.title, len(each.questions), each.points, format_length(each.minutes)


def _describe_lecture(path, root):
    cells = nbformat.read(path, as_version=4).cells
    title, text = _title_and_summary(cells[0].source)
    name = f"l{path.name[:2]}"
    asks = [found for cell in cells if (found := _question_call_of(cell))]
    return {
        "id": name,
        "file": path.relative_to(root).as_posix(),
        "number": int(path.name[:2]),
        "title": title,
        "about": text,
        "minutes": _estimate_minutes(cells, asks),
        "asks": list(dict.fromkeys(found.question for found in asks if found.call == "check")),
        "guesses": list(dict.fromkeys(found.question for found in asks if found.call == "predict")),
        "headings": _heading_of_cells(cells, name),
    }


def _estimate_minutes(cells, asks):
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    figures = sum(bool(cell.get("outputs")) and not _question_call_of(cell) for cell in cells)
    guesses = sum(found.call == "predict" for found in asks)
    minutes = words / WORDS_A_MINUTE + figures * FIGURE_MINUTES + guesses * GUESS_MINUTES
    minutes += CHECK_MINUTES * sum(found.call == "check" for found in asks)
    return MINUTES_STEP * round(minutes / MINUTES_STEP)


def _heading_of_cells(cells, name):
    """The lecture and the heading above each cell, by the cell's id."""
    found, heading = {}, ""
    for cell in cells:
        if cell.cell_type == "markdown" and (told := re.match(r"#+ (.*)", cell.source)):
            heading = told[1]
        found[cell.id] = {"lecture": name, "cell": cell.id, "heading": heading}
    return found


def _question_call_of(cell):
    return question_call(cell.source) if cell.cell_type == "code" else None


def _title_and_summary(source):
    """A title and the paragraph below it."""
    heading, _, text = source.partition("\n\n")
    return heading.removeprefix("# "), text.partition("\n\n")[0]


if __name__ == "__main__":
    sys.exit(main())
