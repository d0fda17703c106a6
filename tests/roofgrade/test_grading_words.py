"""What instructors and students read comes from the tables, when it is shown."""

import json
import re

import pytest
from classroom import RIGHT, SET, WRITTEN, classroom, grade, keep, mark
from homework import plain

from roofgrade.common.sentences import words
from roofgrade.pages import feedback
from roofgrade.pages.report import report
from roofgrade.regrade_export import export, late
from roofgrade.run import grading_run
from roofgrade.sandbox.inside.text import words as inside


@pytest.mark.parametrize("table", [words, inside], ids=["outside", "inside"])
def test_every_sentence_that_is_looked_up_is_there(table):
    # What runs in the sandbox reads its own.
    files = [
        path
        for kind in ("*.py", "*.j2")
        for path in table.folder.parent.rglob(kind)
        if table is inside or "inside" not in path.parts
    ]
    code = "".join(path.read_text(encoding="utf-8") for path in files)
    asked = set(re.findall(r"""\bwords\(\s*["']([\w.]+)["']""", code))
    assert asked
    assert asked <= set(table.templates())


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """Another language: every sentence in capitals, its fields as they were."""
    table = [
        f"'{key}' = {json.dumps(_capitals(text))}\n" for key, text in words.templates().items()
    ]
    (tmp_path / "en.toml").write_text("".join(table), encoding="utf-8")
    monkeypatch.setattr(words, "folder", tmp_path)


def _capitals(template):
    return re.sub(r"[^{}]+(?![^{}]*\})", lambda part: part[0].upper(), template)


def test_another_language_reaches_every_page(foreign, tmp_path):
    course = classroom(tmp_path / "course")
    grade(course, "ada", RIGHT, written=WRITTEN, seconds_late=late.DAY)
    grade(course, "bob", RIGHT)
    keep(course, "eve", "refused", reason="reason")
    keep(course, "ada", "graded", answers=RIGHT)
    mark(course, "ada", 3, "Well said.")
    late.apply(course, SET, late.Policy(per_day=0.1))
    for page in feedback.write(course, SET):
        html = page.path.read_text(encoding="utf-8").partition("</style>")[2]
        html = re.sub(r'<div class="(box|comment)">.*?</div>|<pre.*?</pre>', "", html, flags=re.S)
        for sentence in ("points", "Comment", "back to", "late", "Graded", "graded", "own"):
            assert not re.search(rf">[^<]*\b{sentence}\b", html), (page.student, sentence)
    (course.submitted / "ada" / SET).mkdir(parents=True)
    summary = grading_run.overview(course, SET)
    said = plain(summary.page().partition("</style>")[2]) + summary.text(everything=True)
    assert not re.search(r"graded|folder|remarks|points|became", said.replace(str(tmp_path), ""))
    assert "QUESTION" in str(report(course, SET))
    assert '"STUDENT"' in export.plain(course, SET)
