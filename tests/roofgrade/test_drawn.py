"""A function is tried on cases drawn for what was handed in: to know the last ones is no use."""

import ast
import json
import shutil

import mixed
import pytest
from homework import make_course

from roofgrade.course import Course
from roofgrade.gradebook.kept import all_kept
from roofgrade.run import grading_run

pytestmark = pytest.mark.usefixtures("sandbox")

PRINTING = "seen = []\ndef attainable(*case):\n    seen.append(case)\n    return 1.0"
LOOKING_UP = "known = {table!r}\ndef attainable(*case):\n    return known.get(case, 1.0)"


def graded(course, source, **options):
    """Ada's kept Result once she has handed in this function, and what her last cell prints."""
    shutil.rmtree(course.submitted, ignore_errors=True)
    work = mixed.good_work("ada")
    work.write("ps1-attainable", source)
    work.add("print([*globals().get('seen', ())])")
    work.hand_in(course.submitted)
    grading_run.grade(course, "ps1", workers=1, progress=False, **options)
    [result] = all_kept(course, "ps1")
    printed = json.loads(result.notebook)["cells"][-1]["outputs"][0]["text"]
    return result.answers["ps1-attainable-check"], ast.literal_eval(printed)


@pytest.mark.weekly("a function that tells its cases helps nobody")
def test_a_function_that_tells_its_arguments_helps_nobody(tmp_path):
    course = Course(make_course(tmp_path))
    first, seen = graded(course, PRINTING)
    again, seen_again = graded(course, PRINTING, again=True)
    assert len(seen) == 24
    assert (again.reply, seen_again) == (first.reply, seen), "the same work meets the same cases"
    table = {case: min(case[1], case[0] * case[2]) for case in seen}
    answer, _ = graded(course, LOOKING_UP.format(table=table))
    assert (answer.credit, answer.slips) == (0, ("known cases alone",))
