"""Makes the probe for a locked check: an expression to evaluate, and calls to make on its value."""

import base64
import hashlib
import pickle

from roofcheck import cells
from roofcheck.cells import QuestionCall
from roofcheck.kinds import Formula, Function, Puzzle


def read_check(source: str) -> QuestionCall:
    """Return the check in a cell. Raises ValueError unless the cell is exactly one check.

    >>> read_check('check("ps1.mine", saved_us, me)').expression
    'saved_us'
    """
    call = cells.question_call(source)
    if call and call.is_whole_cell and call.call == "check" and call.question and call.expression:
        return call
    raise ValueError(
        f'only check("ps1.question", answer) or check("ps1.question", answer, me) can be judged '
        f"outside the student's process, not {source[:80]!r}"
    )


def make_probe(check: QuestionCall, question, seed) -> dict:
    """Return the message for the process: the check's expression and the question's calls.

    The calls are pickled, since their arguments include counting machines. Student code cannot
    change them on the way.
    """
    probe = {"expression": check.expression, "me": check.me}
    kind, calls = list_calls(question, seed)
    if calls:
        probe |= {"kind": kind, "calls": base64.b64encode(pickle.dumps(calls)).decode()}
    return probe


def list_calls(question, seed):
    """Return the kind of a question's calls and the calls, public ones before drawn ones."""
    drawn = question.with_case_seed(seed)
    if isinstance(question, Puzzle):
        return "puzzle", [case.without_numbers() for case in (*question.cases, *drawn.cases)]
    if isinstance(question, Formula):
        cases = (*question.cases, *drawn.cases)
        return "formula", [(case, question.values(case)) for case in cases]
    if isinstance(question, Function):
        return "function", [*question.cases, *drawn.cases]
    return "", []


def hash_calls(probe: dict) -> dict:
    """Return a probe for storage, with a hash instead of its calls."""
    calls = hashlib.sha256(probe.get("calls", "").encode()).hexdigest()
    return probe | {"calls": calls if "calls" in probe else ""}
