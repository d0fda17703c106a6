"""What a locked check asks a student's process for: an expression, and calls to make of it."""

import base64
import hashlib
import pickle

from roofcheck import cells
from roofcheck.cells import QuestionCall
from roofcheck.kinds import Formula, Function, Puzzle


def read_check(source: str) -> QuestionCall:
    """The check in a cell. Raises ValueError for a cell that is anything else.

    >>> read_check('check("ps1.mine", saved_us, me)').expression
    'saved_us'
    """
    found = cells.question_call(source)
    if (
        found
        and found.is_whole_cell
        and found.call == "check"
        and found.question
        and found.expression
    ):
        return found
    raise ValueError(
        f'only check("ps1.question", answer) or check("ps1.question", answer, me) can be judged '
        f"outside the student's process, not {source[:80]!r}"
    )


def make_probe(check: QuestionCall, question, seed) -> dict:
    """What is sent to the student's process: the check's expression, and a question's calls.

    Calls are pickled, since counting machines are among their arguments: nothing of the student's
    stands between here and where they are read.
    """
    found = {"expression": check.expression, "me": check.me}
    kind, calls = list_calls(question, seed)
    if calls:
        found |= {"kind": kind, "calls": base64.b64encode(pickle.dumps(calls)).decode()}
    return found


def list_calls(question, seed):
    """The kind of calls that a question makes, and the calls: the public ones, then the drawn."""
    drawn = question.with_cases(seed)
    if isinstance(question, Puzzle):
        return "puzzle", [case.without_numbers() for case in (*question.cases, *drawn.cases)]
    if isinstance(question, Formula):
        cases = (*question.cases, *drawn.cases)
        return "formula", [(case, question.values(case)) for case in cases]
    if isinstance(question, Function):
        return "function", [*question.cases, *drawn.cases]
    return "", []


def hash_calls(probe: dict) -> dict:
    """A probe as it is kept: with the hash of its calls in their place."""
    calls = hashlib.sha256(probe.get("calls", "").encode()).hexdigest()
    return probe | {"calls": calls if "calls" in probe else ""}
