"""Lectures and problem sets name each other: who opens which questions, and which set asks of whom.

A lecture says it in its cell lNN-homework, in the words "questions 1, 3 and 5 to 7 of [problem set
2](link)" or "all nine questions of ..."; a problem set in the first sentence of its first cell, "On
lectures [3](link) and [4](link).", or with a range, "[1](link) to [6](link)".
"""

import importlib
import importlib.util
import os
import re
import sys
from collections import Counter
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))
LECTURES = sorted((ROOT / "course/en").glob("*.ipynb"))
SETS = sorted((ROOT / "exercises/en").glob("*/*.ipynb"))
SOLVED = sorted((ROOT / "solutions/en").glob("*/*.ipynb"))
NUMBERS = r"\d+(?:(?:, | and | to )\d+)*"
OPENED = re.compile(
    rf"\b(?:questions? ({NUMBERS})|all (\w+) questions) of \[problem set (\d+)\]\(([^)]+)\)"
)
WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)\s#]+)\)")


def cells(path):
    return nbformat.read(path, as_version=4).cells


def number(lecture):
    return int(lecture.name[:2])


def counted(numbers):
    """The numbers of "1, 3 and 5 to 7" in order."""
    found = []
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", numbers):
        found += range(int(first), int(last or first) + 1)
    return found


def opened(lecture):
    """The questions that a lecture opens: (set, number), each as often as it says so."""
    found = [cell for cell in cells(lecture) if cell.id == f"l{lecture.name[:2]}-homework"]
    assert found, f"{lecture.name} has no cell l{lecture.name[:2]}-homework"
    said = OPENED.findall(found[0].source)
    assert said, f"{lecture.name} names no questions; this file says in which words"
    return [
        (int(each), question)
        for numbers, count, each, _ in said
        for question in (counted(numbers) or range(1, WORDS.index(count) + 1))
    ]


def lectures_of(problems):
    """The lectures that the first sentence of a problem set names."""
    sentence = re.search(r"^On lectures? (.*?)\. ", cells(problems)[0].source, re.M)
    assert sentence, f"{problems.name} begins with no sentence On lecture ..."
    return counted(LINK.sub(r"\1", sentence[1]))


def links(path):
    """The links of a notebook's prose that lead to files: (text, target)."""
    prose = "\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    return LINK.findall(prose)


def test_numbers_are_read_with_their_ranges():
    assert counted("1, 3 and 5 to 7") == [1, 3, 5, 6, 7]
    found = OPENED.findall(
        "question 3 of [problem set 4](x), all six questions of [problem set 5](y)"
    )
    assert found == [("3", "", "4", "x"), ("", "six", "5", "y")]


def test_each_question_is_opened_by_exactly_one_lecture():
    asked = {
        (int(path.stem.removeprefix("ps")), int(found))
        for path in SETS
        for cell in cells(path)
        if cell.cell_type == "markdown"
        for found in re.findall(r"^## (\d+)\. ", cell.source, re.M)
    }
    times = Counter(question for lecture in LECTURES for question in opened(lecture))
    assert {question: count for question, count in times.items() if count > 1} == {}, "opened twice"
    assert asked - times.keys() == set(), "opened by no lecture"
    assert times.keys() - asked == set(), "no such question"


@pytest.mark.parametrize("lecture", LECTURES, ids=lambda path: path.stem)
def test_a_lectures_homework_stands_before_its_sources_and_on_no_slide(lecture):
    prefix = f"l{lecture.name[:2]}"
    [*_, last, sources] = cells(lecture)
    assert [last.id, sources.id] == [f"{prefix}-homework", f"{prefix}-sources"]
    assert last.metadata.slideshow.slide_type == "skip"
    for *_, each, target in OPENED.findall(last.source):
        assert target == f"../../exercises/en/ps{each}/ps{each}.ipynb"


@pytest.mark.parametrize("problems", SETS, ids=lambda path: path.stem)
def test_a_problem_set_names_and_links_the_lectures_that_open_its_questions(problems):
    named = lectures_of(problems)
    here = int(problems.stem.removeprefix("ps"))
    opening = [number(each) for each in LECTURES if here in {which for which, _ in opened(each)}]
    assert set(opening) <= set(named)
    linked = {
        int(text): target for text, target in LINK.findall(cells(problems)[0].source.split(". ")[0])
    }
    assert {min(named), max(named)} <= linked.keys() <= set(named)
    for each, target in linked.items():
        assert target == f"../../../course/en/{LECTURES[each - 1].name}"


@pytest.mark.parametrize(
    "path", [*LECTURES, *SETS, *SOLVED], ids=lambda path: f"{path.parts[-4]}-{path.stem}"
)
def test_every_link_of_a_notebook_leads_to_a_file(path):
    # GitHub, the kit and a JupyterLab that serves the repository resolve a link as a path.
    for _, target in links(path):
        assert (path.parent / target).is_file(), target


@pytest.mark.parametrize("path", [*LECTURES, *SETS], ids=lambda path: path.stem)
def test_no_link_leaves_the_folders_that_make_lab_serves(path):
    # Those stand beside each other in a folder of links, under their names in the repository.
    served = importlib.import_module("lab").SERVED
    for _, target in links(path):
        place = Path(os.path.normpath(path.relative_to(ROOT).parent / target))
        assert any(place.is_relative_to(folder) for folder in served), target


@pytest.fixture(scope="module")
def site():
    """The builder of the site, whose pages stand in other folders than the notebooks."""
    sys.path.append(str(ROOT / "tools/site"))
    spec = importlib.util.spec_from_file_location("site_build", ROOT / "tools/site/build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_site_turns_links_to_notebooks_into_links_to_its_pages(site):
    lecture, problems = LECTURES[0], SETS[0]
    there = f"see [set]({os.path.relpath(problems, lecture.parent)}) and [b](https://x.org/a.ipynb)"
    assert site.relinked(there, lecture, f"lectures/{lecture.name}") == (
        "see [set](../problems/ps1.ipynb) and [b](https://x.org/a.ipynb)"
    )
    back = f"[1]({os.path.relpath(lecture, problems.parent)})"
    assert site.relinked(back, problems, "problems/ps1.ipynb") == f"[1](../lectures/{lecture.name})"
    # Its start page quotes the first lines of each problem set.
    assert site.relinked(back, problems) == f"[1](lectures/{lecture.name})"
    told = site.title(problems)["text"]
    assert f"(lectures/{lecture.name})" in told
    assert "../" not in told


@pytest.mark.parametrize("path", [*LECTURES, *SETS], ids=lambda path: path.stem)
def test_no_page_of_the_site_keeps_a_link_that_leads_nowhere(site, path):
    page = Path(site.places()[path.relative_to(ROOT).as_posix()])
    source = "\n\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    for _, target in LINK.findall(site.relinked(source, path, page)):
        assert os.path.normpath(page.parent / target) in site.places().values(), target


def test_the_readmes_name_the_same_lectures_and_questions():
    exercises = (ROOT / "exercises/README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[ps(\d)\]\(.*?\) \| ([^|]+) \|", exercises, re.M))
    assert {each: counted(named) for each, named in rows.items()} == {
        path.stem.removeprefix("ps"): lectures_of(path) for path in SETS
    }
    course = (ROOT / "course/README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| \[(\d+)\. .*\| ([^|]+) \|$", course, re.M))
    said = {
        int(lecture): Counter(
            (int(each), question)
            for each, numbers in re.findall(rf"\[set (\d)\]\([^)]*\): ({NUMBERS})", row)
            for question in counted(numbers)
        )
        for lecture, row in rows.items()
    }
    assert said == {number(lecture): Counter(opened(lecture)) for lecture in LECTURES}
