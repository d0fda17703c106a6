"""What marking tells a teacher of a submission, with cells that run in this process."""

import contextlib
import json

import pytest
from damage import cell, made, own, place
from homework import ROOT

from roofcheck.tables.variants import find_variant
from roofgrade.common.errors import ProcessEndedError
from roofgrade.common.marking_task import Task
from roofgrade.judge.marking import mark_submission
from roofgrade.sandbox.inside import plain_values

RELEASE = (ROOT / "exercises/en/ps1/ps1.ipynb").read_text(encoding="utf-8")


class Child(contextlib.nullcontext):
    """Runs cells here: one that loops is stopped, and one that exits ends the process."""

    unsandboxed = True

    def open(self, files, seconds):
        self.names, self.enter_result = {}, self
        return self

    def run(self, source, seconds, ask):
        if "exit" in source:
            raise ProcessEndedError("its code ended Python")
        exec("" if "while" in source else source, self.names)
        return {"outputs": [], "count": 1}, "while" in source

    def probe(self, probe, seconds):
        answer = json.loads(json.dumps(plain_values.answer_probe(self.names, probe)))
        return {"answer": answer, "count": 1}, False


def marked(change):
    names = {"student": "bob", "assignment": "ps1", "folder": "bob/ps1", "secret": "", "key": ""}
    task = Task(**names, notebook=made(change), files={}, release_json=RELEASE)
    return mark_submission(task, Child())


LOOP, EXIT = "the cell {} was stopped after 30 s", "its code ended Python, in the cell {}"


@pytest.mark.parametrize(("source", "reason"), [("while 1:\n    pass", LOOP), ("exit()", EXIT)])
def test_a_reason_for_review_names_the_cell_that_was_stopped(source, reason):
    added = marked(lambda nb: nb["cells"].insert(place(nb, "ps1-time"), own(source)))
    filled = marked(lambda nb: cell(nb, "ps1-time").update(source=source))
    for result, name in ((added, repr(source.split("\n")[0])), (filled, "ps1-time")):
        assert result.reason.startswith(reason.format(name))


def test_a_friends_figures_under_ones_own_id_are_told_to_the_teacher():
    def change(nb):
        cell(nb, "ps1-me").update(source="me = 'bob'")
        friends = find_variant("ps1.mine", "ada").reference()
        cell(nb, "ps1-mine").update(source=f"saved_us = {friends!r}")

    result = marked(change)
    said = "the answer is right for another student's figures, not for this student's"
    assert result.remarks == (f"ps1.mine: {said}",)
    assert result.answers["ps1-mine-check"].credit == 0
