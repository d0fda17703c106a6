"""The table of what became of each: counts that add up, and names that can do no harm."""

import re
from dataclasses import replace

import pytest
from classroom import RIGHT, SET, classroom, grade
from hypothesis import given
from hypothesis import strategies as st

from roofgrade.common.results import GRADED, REFUSED, WAITING, Result
from roofgrade.gradebook import result_files
from roofgrade.gradebook.standings import UNREAD, Standing
from roofgrade.pages import similarity
from roofgrade.pages.summary import STATES, UNGRADED, FolderRow, summarise

HOSTILE = "<script>alert(1)</script>\"'&\x1b[2J\x07\u202e"


def row(student, state=GRADED, **fields):
    return FolderRow(
        student=student, folder=f"{student}/ps1", state=state,
        **{"counts": state != REFUSED} | fields,
    )  # fmt: skip


def standing(score, waiting=(), by_hand=()):
    return Standing(
        student="anyone", max_score=26.0, state=UNREAD if waiting else GRADED, score=score,
        waiting_cells=waiting, hand_scored_cells=by_hand,
    )  # fmt: skip


@pytest.fixture
def summary():
    rows = [
        row("cem", REFUSED, reason="the notebook is not valid JSON"), row("ada"),
        row("bea", remarks=("the notebook is called 'PS1.ipynb'",)),
        row("dia", WAITING, reason="a cell was stopped after 30 s"),
        row("eli", UNGRADED, counts=False),
    ]  # fmt: skip
    standings = {
        "ada": standing(12.5, ("ps1-paragraph",)), "bea": standing(26.0, ()),
        "cem": standing(3.0, ()),
        "dia": replace(standing(1.0, ("a", "b", "c")), first_name="Dia", last_name="Cho"),
        "zoe": standing(9.0, ()),
    }  # fmt: skip
    return summarise(
        "ps1", rows, standings, 26.0, remarks={"bea": ["the feedback page is out of date"]}
    )


def test_the_terminal_names_those_that_someone_should_look_at(summary):
    assert summary.text() == (
        "student        folder   state             points  not yet marked\n"
        "bea            bea/ps1  ✓ graded        26 of 26\n"
        "    the notebook is called 'PS1.ipynb'\n"
        "    the feedback page is out of date\n"
        "cem            cem/ps1  ✗ refused              –\n"
        "    the notebook is not valid JSON\n"
        "    the gradebook has the points of an earlier submission\n"
        "dia (Dia Cho)  dia/ps1  ! needs review   1 of 26  3 cells\n"
        "    a cell was stopped after 30 s\n"
        "eli            eli/ps1  … ungraded             –\n"
        "\n"
        "5 folders for ps1: 2 graded, 1 refused, 1 need review, 1 ungraded.\n"
        "Submissions with unmarked cells: 2.\n"
        "No longer in submitted/, but the gradebook still has points for zoe."
    )
    assert re.search(r"^ada .* 12.5 of 26 +ps1-paragraph$", summary.text(everything=True), re.M)


def test_who_waited_for_a_person_is_graded_once_one_has_been_there():
    about = {"reason": "a crash", "remarks": ("renamed",), "flagged": ("one", "two")}
    rows = [row(name, WAITING, **about) for name in ("ada", "bea")]
    standings = {
        "ada": standing(20.0, ("paragraph",), by_hand=("one", "three", "two")),
        "bea": standing(20.0, ("two",), by_hand=("one", "paragraph")),
    }
    ada, bea = summarise("ps1", rows, standings, 26.0).rows
    assert (ada.state, ada.notes) == (
        GRADED,
        ("points were set by hand; the reason for review was: a crash", "renamed"),
    )
    assert (bea.state, bea.notes) == (WAITING, ("a crash", "renamed"))


def test_hostile_names_stay_text():
    rows = [row(HOSTILE, WAITING, reason=HOSTILE, remarks=(HOSTILE,))]
    summary = summarise("ps1", rows, {HOSTILE: standing(1.0, (HOSTILE,))}, 26.0)
    page, text = summary.page(), summary.text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    for sign in "\x1b\x07\u202e":
        assert sign not in page + text
    assert "alert" in text
    tags = re.sub(r"<[^<>]*>", "", page)
    assert "<" not in tags


@given(st.lists(st.tuples(st.text(), st.sampled_from([*STATES]), st.text()), max_size=8))
def test_the_counts_add_up_whatever_the_names_are(found):
    rows = [row(name, state, reason=reason) for name, state, reason in found]
    summary = summarise("ps1", rows, {}, 26.0)
    assert sum(summary.counts.values()) == len(found)
    assert summary.page().count("<tr class=") == len(found)
    assert all(sign.isprintable() or sign == "\n" for sign in summary.text(everything=True))


def test_texts_that_are_nearly_the_same_are_pointed_out(tmp_path):
    course = classroom(tmp_path)
    text = " ".join(f"word{place}" for place in range(60))
    texts = {"ada": text, "bob": text.replace("word9 ", "Nine, ").upper(), "cem": text[::-1]}
    for who, written in (texts | {"dia": "", "eli": ""}).items():
        path = grade(course, who, RIGHT, written=written)
        ids = {"student": who, "assignment": SET, "folder": f"{who}/{SET}", "state": GRADED}
        result_files.write_result(course, Result(**ids, notebook=path.read_text()))
    remarks = {"ada": ["the feedback page is out of date"]}
    similarity.add_remarks(course, SET, remarks)
    assert set(remarks) == {"ada", "bob"}, "empty answers and another text are not alike"
    assert "the paragraph has nearly the same text as that of bob" in remarks["ada"]
    assert "the notebook has nearly the same text as that of ada" in remarks["bob"]
