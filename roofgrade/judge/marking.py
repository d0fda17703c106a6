"""Marks one submission: restores its notebook, runs it in the sandbox and judges the replies."""

import functools
import time
from collections.abc import Mapping
from dataclasses import replace

import nbformat

from roofcheck import find_question
from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofcheck.study.set_progress import format_progress
from roofcheck.tables.catalogue import asks_as_package
from roofcheck.tables.variants import ANOTHER_VARIANT, ask, list_variants
from roofgrade.common import cell_roles
from roofgrade.common.errors import ProcessCrashedError, ProcessEndedError, RefusedError
from roofgrade.common.marking_task import Task
from roofgrade.common.results import GRADED, REFUSED, WAITING, Answer, Result
from roofgrade.common.sentences import sentence
from roofgrade.judge import outputs, probes
from roofgrade.judge.judging import find_other_author, format_value, judge_reply, make_seed
from roofgrade.restore.restored_notebook import restore_notebook


def mark_submission(task: Task, box) -> Result:
    """Run a submission in the sandbox ``box`` and judge it. Raises only MachineryError."""
    start = time.perf_counter()
    result = Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=GRADED,
        key=task.key, submitted=task.submitted, sandboxed=not box.unsandboxed,
    )  # fmt: skip
    try:
        restored = restore_notebook(task.notebook, read_release(task.release_json))
    except RefusedError as error:
        return replace(result, state=REFUSED, reason=str(error), remarks=task.remarks)
    marking = _Marking(task, restored)
    marking.run(box)
    reasons = [reason for reason in (task.review_reason, *marking.troubles) if reason]
    # Show a reason that concerns no single cell at the first check.
    flagged = marking.unjudged or [cell for cell in marking.answers if reasons][:1]
    return replace(
        result, state=WAITING if reasons else GRADED, reason="; ".join(dict.fromkeys(reasons)),
        remarks=(*task.remarks, *restored.remarks, *marking.remarks),
        notebook=outputs.format_notebook(restored.notebook), answers=marking.answers,
        reading=restored.unread_paragraphs, flagged=tuple(dict.fromkeys(flagged)),
        gone=marking.gone, seconds=time.perf_counter() - start,
    )  # fmt: skip


@functools.lru_cache(maxsize=4)
def read_release(release_json: str):
    """Read the released notebook, and verify that each of its checks can be judged.

    Raises ValueError if a check is malformed, its points differ from the table's, or a teacher's
    table asks something else than the notebook.
    """
    notebook = nbformat.reads(release_json, as_version=4)
    prose = " ".join(" ".join(cell.source.split()) for cell in notebook.cells)
    as_in_table = {name for cell in notebook.cells for name in cell.metadata.get("asks", ())}
    for cell in notebook.cells:
        if cell_roles.is_check(cell):
            check = probes.read_check(cell.source)
            question = find_question(check.question)
            if check.me:
                list_variants(check.question)
            if float(cell.metadata.nbgrader.points) != question.points:
                marks = cell.metadata.nbgrader
                points = {"in_notebook": marks.points, "in_table": question.points}
                raise ValueError(sentence("judge.points", cell=marks.grade_id, **points))
            same, text = asks_as_package(check.question), " ".join(question.text().split())
            is_stated = check.question in as_in_table or same is False
            if text not in prose and (is_stated or (same is None and not check.me)):
                fields = {"question": check.question, "text": text}
                raise ValueError(sentence("judge.other_text", **fields))
    return notebook


def make_check_output(grade, count):
    """Return a check's output: the points for nbgrader, and the message for the student."""
    data = {"text/plain": repr(grade), "text/html": grade._repr_html_()}
    return outputs.make_result(data, count)


def replace_check_outputs(notebook_json: str, grades: Mapping[str, Grade]) -> str:
    """Return a graded notebook with new outputs of the checks in ``grades``, a dict by grade id."""
    notebook = nbformat.reads(notebook_json, as_version=4)
    for cell in notebook.cells:
        if (name := cell_roles.read_grade_id(cell)) in grades:
            cell.outputs = [make_check_output(grades[name], cell.execution_count)]
    return outputs.format_notebook(notebook)


class _Marking:
    """The marking of one notebook, with its answers so far and any problems."""

    def __init__(self, task, restored):
        self._task, self._restored = task, restored
        self._cleaner = outputs.OutputCleaner()
        self._grades = {}
        self._ended, self.gone = "", False
        self.answers, self.troubles, self.remarks, self.unjudged = {}, [], [], []

    def run(self, box):
        cells = [cell for cell in self._restored.notebook.cells if cell.cell_type == "code"]
        with box.open(self._task.files, self._task.notebook_seconds) as child:
            for cell in cells:
                if cell_roles.is_check(cell):
                    self._judge_check(child, cell, cell.source)
                    self._judge_edited_check(child, cell)
                elif cell.source.strip():
                    self._run_cell(child, cell)
            for cell in filter(cell_roles.is_check, cells):
                self._judge_again(child, cell)
        for cell in cells:
            self._show_progress(cell)

    def _run_cell(self, child, cell):
        seconds = self._task.cell_seconds
        reply = self._ask_child(cell, lambda: child.run(cell.source, seconds, _describe_variant))
        if isinstance(reply, str):
            cell.outputs = [outputs.make_error("NotRun", reply, [reply])]
            return
        reply, slow = reply
        cell.outputs = self._cleaner.clean(reply)
        cell.execution_count = reply["count"]
        if slow:
            text = sentence("judge.stopped", seconds=seconds)
            fields = {"cell": _name_cell(cell), "seconds": seconds}
            self.troubles.append(sentence("judge.cell_slow", **fields))
            cell.outputs.append(outputs.make_error("CellTimeoutError", text, [text]))

    def _judge_check(self, child, cell, source):
        name = cell.metadata.nbgrader.grade_id
        check = probes.read_check(source)
        question, seed = find_question(check.question), make_seed(self._task.secret, check.question)
        probe = probes.make_probe(check, question, seed)
        ask = functools.partial(self._probe_and_judge, child, check, probe, seed)
        judgement = self._ask_child(cell, ask)
        if isinstance(judgement, str):
            verdict = Verdict(0, sentence("judge.not_judged", why=judgement), "missing")
            reply, count = None, None
            self.unjudged.append(name)
        else:
            verdict, reply, count = judgement
            if other := find_other_author(check, reply, self._task.student):
                names = {"question": check.question, "said": other, "student": self._task.student}
                self.troubles.append(sentence("judge.names_another", **names))
                self.unjudged.append(name)
            if ANOTHER_VARIANT in verdict.slips:
                self.remarks.append(sentence("judge.another_variant", question=check.question))
            if verdict.slips == ("slow",):
                self.troubles.append(sentence("judge.check_slow", question=check.question))
                self.unjudged.append(name)
        grade = Grade(verdict, question.points)
        self._grades[check.question] = grade
        self.answers[name] = Answer(
            question=check.question, asked=probes.hash_calls(probe), reply=reply,
            credit=verdict.credit, points=question.points, state=verdict.state,
            message=verdict.message, slips=verdict.slips,
            shared=len(getattr(question, "cases", ())), given=format_value(question, reply),
        )  # fmt: skip
        cell.execution_count = count
        cell.outputs = [make_check_output(grade, count)]

    def _probe_and_judge(self, child, check, probe, seed):
        reply, slow = child.probe(probe, self._task.cell_seconds)
        if slow:
            text = sentence("judge.slow", seconds=self._task.cell_seconds)
            return Verdict(0, text, slips=("slow",)), None, reply["count"]
        verdict = judge_reply(check, reply["answer"], seed, self._task.student)
        return verdict, reply["answer"], reply["count"]

    def _judge_edited_check(self, child, cell):
        """Judge the student's edited version of a check if the released one finds no answer."""
        name = cell.metadata.nbgrader.grade_id
        source = self._restored.edited_checks.get(name)
        if not source or self._ended or self.answers[name].state != "missing":
            return
        try:
            edited = probes.read_check(source)
        except ValueError:
            return
        if edited.question != self.answers[name].question:
            return
        self._judge_check(child, cell, source)
        if self.answers[name].state != "missing":
            read_from = {"question": edited.question, "expression": edited.expression[:40]}
            self.remarks.append(sentence("judge.as_edited", **read_from))

    def _judge_again(self, child, cell):
        """Judge a check that found no answer again, now that all cells have run."""
        name = cell.metadata.nbgrader.grade_id
        if self._ended or self.answers[name].state != "missing" or name in self.unjudged:
            return
        before = self.answers[name], cell.outputs, cell.execution_count
        self._judge_check(child, cell, cell.source)
        if self.answers[name].state == "missing":
            self.answers[name], cell.outputs, cell.execution_count = before
        else:
            question = self.answers[name].question
            self.remarks.append(sentence("judge.answered_below", question=question))

    def _ask_child(self, cell, ask):
        """Return the child's reply, or a text that says why the child has ended."""
        if not self._ended:
            try:
                return ask()
            except ProcessEndedError as error:
                self._ended, self.gone = str(error), isinstance(error, ProcessCrashedError)
                fields = {"why": self._ended, "cell": _name_cell(cell)}
                self.troubles.append(sentence("judge.ended_in", **fields))
        return self._ended

    def _show_progress(self, cell):
        if cell_roles.is_locked(cell) and cell.source.startswith("progress("):
            line = format_progress(self._task.assignment, self._grades)
            cell.outputs = [outputs.make_result({"text/plain": line}, None)]


def _name_cell(cell):
    """Return a cell's grade id or, for a student's own cell, how it starts."""
    return cell_roles.read_grade_id(cell) or repr(cell.source.strip().partition("\n")[0][:60])


def _describe_variant(message):
    """Return a student's variant as text, HTML and figures, for ``ask`` in the sandbox."""
    try:
        variant = ask(str(message.get("question"))[:80], message.get("me"))
    except ValueError as error:
        return {"text": str(error), "figures": {}, "shown": ""}
    figures = {name: getattr(variant, name) for name in dir(variant)}
    return {"text": repr(variant), "figures": figures, "shown": variant._repr_html_()}
