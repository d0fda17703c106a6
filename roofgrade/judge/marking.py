"""One submission, from the notebook as it came to points and messages."""

import functools
import time
from dataclasses import replace

import nbformat

from roofcheck import find_question
from roofcheck.kinds import Verdict
from roofcheck.study.check import Grade
from roofcheck.study.set_progress import format_progress
from roofcheck.tables.variants import ask, list_variants
from roofgrade.common import cell_roles
from roofgrade.common.errors import ProcessCrashedError, ProcessEndedError, RefusedError
from roofgrade.common.marking_task import Task
from roofgrade.common.results import GRADED, REFUSED, WAITING, Answer, Result
from roofgrade.common.sentences import sentence
from roofgrade.judge import outputs, probes
from roofgrade.judge.judging import find_other_author, format_value, judge_reply, make_seed
from roofgrade.restore.restored_notebook import restore_notebook


def mark_submission(task: Task, box) -> Result:
    """Run a submission in the sandbox ``box`` and judge it. Raises nothing but MachineryError."""
    start = time.perf_counter()
    result = Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=GRADED,
        key=task.key, submitted=task.submitted, sandboxed=not box.unsandboxed,
    )  # fmt: skip
    try:
        mended = restore_notebook(task.notebook, read_release(task.release_json))
    except RefusedError as error:
        return replace(result, state=REFUSED, reason=str(error), remarks=task.remarks)
    marking = _Marking(task, mended)
    marking.run(box)
    reasons = [reason for reason in (task.review_reason, *marking.troubles) if reason]
    # A reason that is about no cell is shown at the first check.
    flagged = marking.unjudged or [cell for cell in marking.answers if reasons][:1]
    return replace(
        result,
        state=WAITING if reasons else GRADED,
        reason="; ".join(dict.fromkeys(reasons)),
        remarks=(*task.remarks, *mended.remarks, *marking.remarks),
        notebook=marking.notebook_text(),
        answers=marking.answers,
        reading=mended.unread_paragraphs,
        flagged=tuple(dict.fromkeys(flagged)),
        gone=marking.gone,
        seconds=time.perf_counter() - start,
    )


@functools.lru_cache(maxsize=4)
def read_release(master: str):
    """The released notebook of its JSON text, each check of which can be judged.

    Raises ValueError for a check that is none, and where cell and table disagree on the points.
    """
    notebook = nbformat.reads(master, as_version=4)
    for cell in notebook.cells:
        if is_check(cell):
            asked = probes.read_check(cell.source)
            question = find_question(asked.question)
            if asked.me:
                list_variants(asked.question)
            if float(cell.metadata.nbgrader.points) != question.points:
                marks = cell.metadata.nbgrader
                points = {"in_notebook": marks.points, "in_table": question.points}
                raise ValueError(sentence("judge.points", cell=marks.grade_id, **points))
    return notebook


def is_check(cell):
    """Whether a cell is graded and the student's to run, not to fill in."""
    return cell_roles.is_grade(cell) and not cell_roles.is_solution(cell)


def make_check_output(grade, count):
    """The output of a check: nbgrader reads the points in it, the student the message."""
    data = {"text/plain": repr(grade), "text/html": grade._repr_html_()}
    return outputs.make_result(data, count)


class _Marking:
    """The marking of one notebook: what was answered so far, and what went wrong."""

    def __init__(self, task, mended):
        self._task, self._mended = task, mended
        self._cleaner = outputs.OutputCleaner()
        self._grades = {}
        self._ended, self.gone = "", False
        self.answers, self.troubles, self.remarks, self.unjudged = {}, [], [], []

    def run(self, box):
        cells = [cell for cell in self._mended.notebook.cells if cell.cell_type == "code"]
        with box.open(self._task.files, self._task.notebook_seconds) as child:
            for cell in cells:
                if is_check(cell):
                    self._judge_check(child, cell, cell.source)
                    self._judge_edited_check(child, cell)
                elif cell.source.strip():
                    self._run_cell(child, cell)
            for cell in cells:
                if is_check(cell):
                    self._judge_again(child, cell)
        for cell in cells:
            self._show_progress(cell)

    def notebook_text(self):
        """The graded notebook."""
        return outputs.format_notebook(self._mended.notebook)

    def _run_cell(self, child, cell):
        reply = self._ask_child(
            lambda: child.run(cell.source, self._task.cell_seconds, _describe_variant)
        )
        if isinstance(reply, str):
            cell.outputs = [outputs.make_error("NotRun", reply, [reply])]
            return
        reply, slow = reply
        cell.outputs = self._cleaner.clean(reply)
        cell.execution_count = reply["count"]
        if slow:
            said = sentence("judge.stopped", seconds=self._task.cell_seconds)
            self.troubles.append(sentence("judge.cell_slow", seconds=self._task.cell_seconds))
            cell.outputs.append(outputs.make_error("CellTimeoutError", said, [said]))

    def _judge_check(self, child, cell, source):
        name = cell.metadata.nbgrader.grade_id
        asked = probes.read_check(source)
        question, seed = find_question(asked.question), make_seed(self._task.secret, asked.question)
        probe = probes.make_probe(asked, question, seed)
        judged = self._ask_child(lambda: self._probe_and_judge(child, asked, probe, seed))
        if isinstance(judged, str):
            verdict = Verdict(0, sentence("judge.not_judged", why=judged), "missing")
            reply, count = None, None
            self.unjudged.append(name)
        else:
            verdict, reply, count = judged
            if other := find_other_author(asked, reply, self._task.student):
                told = {"question": asked.question, "said": other, "student": self._task.student}
                self.troubles.append(sentence("judge.names_another", **told))
                self.unjudged.append(name)
            if verdict.slips == ("slow",):
                self.troubles.append(sentence("judge.check_slow", question=asked.question))
                self.unjudged.append(name)
        grade = Grade(verdict, question.points)
        self._grades[asked.question] = grade
        self.answers[name] = Answer(
            question=asked.question, asked=probes.hash_calls(probe), reply=reply,
            credit=verdict.credit, points=question.points, state=verdict.state,
            message=verdict.message, slips=verdict.slips,
            shared=len(getattr(question, "cases", ())), given=format_value(question, reply),
        )  # fmt: skip
        cell.execution_count = count
        cell.outputs = [make_check_output(grade, count)]

    def _probe_and_judge(self, child, asked, probe, seed):
        reply, slow = child.probe(probe, self._task.cell_seconds)
        if slow:
            text = sentence("judge.slow", seconds=self._task.cell_seconds)
            return Verdict(0, text, slips=("slow",)), None, reply["count"]
        verdict = judge_reply(asked, reply["answer"], seed, self._task.student)
        return verdict, reply["answer"], reply["count"]

    def _judge_edited_check(self, child, cell):
        """What the student made the check look at, where the released one finds nothing."""
        name = cell.metadata.nbgrader.grade_id
        source = self._mended.edited_checks.get(name)
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
        """Where a check found nothing, look again once all cells have run."""
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

    def _ask_child(self, ask):
        """What the child replies, or why it is gone."""
        if not self._ended:
            try:
                return ask()
            except ProcessEndedError as error:
                self._ended, self.gone = str(error), isinstance(error, ProcessCrashedError)
                self.troubles.append(self._ended)
        return self._ended

    def _show_progress(self, cell):
        if cell_roles.is_locked(cell) and cell.source.startswith("progress("):
            line = format_progress(self._task.assignment, self._grades)
            cell.outputs = [outputs.make_result({"text/plain": line}, None)]


def _describe_variant(message):
    """What ``ask`` returns in the sandbox: one student's variant as text, as HTML, its figures."""
    try:
        given = ask(str(message.get("question"))[:80], message.get("me"))
    except ValueError as error:
        return {"text": str(error), "figures": {}, "shown": ""}
    figures = {name: getattr(given, name) for name in dir(given)}
    return {"text": repr(given), "figures": figures, "shown": given._repr_html_()}
