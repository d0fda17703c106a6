"""Write course/en/index.json and the tables in course/README.md and exercises/README.md.

    python -m tools.notebooks.contents            write them
    python -m tools.notebooks.contents --check    exit 1 if any is out of date

The home page, hand-in and the answer page use the index. Everything comes from the built lectures
and the texts of the problem sets. The length of a lecture is estimated from its cells.
"""

import argparse
import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import nbformat

from roofcheck.home.times import format_length
from roofgrade.pages.lesson_finder import LessonFinder
from tools.notebooks.problem_sets import read_sets, write_homework_sentence, write_ranges
from tools.notebooks.sections import estimate_minutes, list_questions, read_heading, split_core

ROOT = Path(__file__).resolve().parents[2]
INDEX = "course/en/index.json"
MINUTES_STEP = 5  # to which a core's length is rounded
LECTURES_PAGE = ("lecture", "its question", "opens")
SETS_PAGE = ("set", "after lectures", "about", "questions", "points", "time")
TABLE_MARKS = re.compile(r"(?<=<!-- made by make build -->\n).*?(?=<!-- end -->)", re.DOTALL)


def main(argv=None, root=ROOT):
    """Write or check the index and the tables under ``root``, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if stale")
    check = parser.parse_args(argv).check
    sets = read_sets(root)
    index = describe_course(root, sets)
    lectures = [_write_lecture_row(lecture, sets) for lecture in index["lectures"]]
    texts = {
        INDEX: json.dumps(index, indent=1, ensure_ascii=False) + "\n",
        "course/README.md": _replace_table(root / "course/README.md", LECTURES_PAGE, lectures),
        "exercises/README.md": _replace_table(
            root / "exercises/README.md", SETS_PAGE, map(_write_set_row, sets)
        ),
    }
    stale = [
        name
        for name, text in texts.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text
    ]
    for name in stale:
        if check:
            print(f"{name} is out of date; to fix: make build", file=sys.stderr)
        else:
            (root / name).write_text(texts[name], encoding="utf-8")
            print(f"{name}: written")
    return int(check and bool(stale))


def describe_course(root, sets):
    """Return the content of the index: all lectures and problem sets, in order."""
    lectures = [
        _describe_lecture(path, root) for path in sorted((root / "course/en").glob("*.ipynb"))
    ]
    headings = {
        cell: place for lecture in lectures for cell, place in lecture.pop("headings").items()
    }
    lessons = LessonFinder(root)
    sets = [asdict(problem_set) for problem_set in sets]
    for question in (question for problem_set in sets for question in problem_set["questions"]):
        question["lesson"] = headings.get(lessons.find_cell(question["id"]))
    return {"lectures": lectures, "sets": sets}


def _replace_table(path, head, rows):
    """Return a document's text with a new table between the two marks."""
    text = path.read_text(encoding="utf-8")
    if len(TABLE_MARKS.findall(text)) != 1:
        sys.exit(
            f"{path}: put one <!-- made by make build --> above the table and <!-- end --> below it"
        )
    lines = [head, ["---"] * len(head), *rows]
    table = "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)
    return TABLE_MARKS.sub(lambda _: table, text)


def _write_lecture_row(lecture, sets):
    link = f"[{lecture['number']}. {lecture['title']}]({lecture['file'].removeprefix('course/')})"
    question = lecture["about"].rpartition("?")[0] + "?"
    return link, question, write_homework_sentence(lecture["number"], sets, "..")


def _write_set_row(row):
    link = f"[{row.id}]({row.file.removeprefix('exercises/')})"
    lectures = write_ranges([int(name.removeprefix("l")) for name in row.lectures])
    return link, lectures, row.title, len(row.questions), row.points, format_length(row.minutes)


def _describe_lecture(path, root):
    cells = nbformat.read(path, as_version=4).cells
    title, _, text = cells[0].source.partition("\n\n")
    name = f"l{path.name[:2]}"
    core, sections = split_core(cells)
    return {
        "id": name,
        "file": path.relative_to(root).as_posix(),
        "number": int(path.name[:2]),
        "title": title.removeprefix("# "),
        "about": text.partition("\n\n")[0],
        "minutes": MINUTES_STEP * round(estimate_minutes(core) / MINUTES_STEP),
        "asks": list_questions(core, "check"),
        "deeper_minutes": sum(map(estimate_minutes, sections)),
        "deeper_asks": list_questions([cell for each in sections for cell in each], "check"),
        "headings": _find_headings(cells, name),
    }


def _find_headings(cells, name):
    """Return each cell's lecture and the heading above it, by the cell's id."""
    places, heading = {}, ""
    for cell in cells:
        heading = read_heading(cell) or heading
        places[cell.id] = {"lecture": name, "cell": cell.id, "heading": heading}
    return places


if __name__ == "__main__":
    sys.exit(main())
