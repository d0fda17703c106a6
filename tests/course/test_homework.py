"""Lectures and problem sets lead to each other, in the repository, in the kit and on the build."""

import os
import re
from pathlib import Path

import nbformat
import pytest

from roofcheck.course import Course
from tools import lab
from tools.notebooks.sections import anchor, read_heading, split_core
from tools.site.links import map_files_to_pages, relink_to_site

ROOT = Path(__file__).resolve().parents[2]
LECTURES = sorted((ROOT / "course/en").glob("*.ipynb"))
SETS = sorted((ROOT / "exercises/en").glob("*/*.ipynb"))
SOLVED = sorted((ROOT / "solutions/en").glob("*/*.ipynb"))
ANCHORED = re.compile(r"\]\((?!https?:)([^)\s#]+\.ipynb)#([^)\s]+)\)")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)\s#]+)\)")


def cells(path):
    return nbformat.read(path, as_version=4).cells


def links(path):
    """The links of a notebook's prose that lead to files: (text, target)."""
    prose = "\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    return LINK.findall(prose)


@pytest.mark.parametrize("lecture", Course(ROOT).lectures, ids=lambda lecture: lecture.id)
def test_a_core_ends_with_the_sets_whose_questions_it_opens_on_no_slide(lecture):
    last = split_core([*cells(ROOT / lecture.file)])[0][-1]
    assert last.id == f"{lecture.id}-homework"
    assert last.metadata.slideshow.slide_type == "skip"
    linked = [Path(target).stem for _, target in LINK.findall(last.source)]
    assert linked == [
        each.id for each in Course(ROOT).sets if lecture.id in {q.lecture for q in each.questions}
    ]


@pytest.mark.parametrize("path", [*LECTURES, *SETS], ids=lambda path: path.stem)
def test_a_link_to_a_section_of_another_notebook_meets_its_heading(path):
    for cell in cells(path):
        for target, name in ANCHORED.findall(cell.source):
            assert name in {anchor(read_heading(each)) for each in cells(path.parent / target)}


@pytest.mark.parametrize(
    "path", [*LECTURES, *SETS, *SOLVED], ids=lambda path: f"{path.parts[-4]}-{path.stem}"
)
def test_every_link_of_a_notebook_leads_to_a_file_and_those_of_students_to_one_of_theirs(path):
    # GitHub, the kit and a JupyterLab that serves the repository resolve a link as a path. `make
    # lab` serves some folders of it, beside each other.
    for _, target in links(path):
        place = Path(os.path.normpath(path.parent / target))
        assert place.is_file(), target
        theirs = any(place.is_relative_to(ROOT / folder) for folder in lab.SERVED_PATHS)
        assert theirs or path in SOLVED, target


def test_the_site_turns_links_to_notebooks_into_links_to_its_pages():
    lecture, problems = LECTURES[0], SETS[0]
    there = f"see [set]({os.path.relpath(problems, lecture.parent)}) and [b](https://x.org/a.ipynb)"
    assert relink_to_site(there, lecture, f"lectures/{lecture.name}") == (
        "see [set](../problems/ps1.ipynb) and [b](https://x.org/a.ipynb)"
    )
    # Its start page quotes the first lines of each problem set.
    back = f"[1]({os.path.relpath(lecture, problems.parent)})"
    assert relink_to_site(back, problems) == f"[1](lectures/{lecture.name})"


@pytest.mark.parametrize("path", [*LECTURES, *SETS], ids=lambda path: path.stem)
def test_no_page_of_the_site_keeps_a_link_that_leads_nowhere(path):
    page = Path(map_files_to_pages()[path.relative_to(ROOT).as_posix()])
    source = "\n\n".join(cell.source for cell in cells(path) if cell.cell_type == "markdown")
    for _, target in LINK.findall(relink_to_site(source, path, page)):
        assert os.path.normpath(page.parent / target) in map_files_to_pages().values(), target
