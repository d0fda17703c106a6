"""What a locked check asks a student's process for: an expression, and calls to make of it."""

import ast
import base64
import contextlib
import hashlib
import pickle
from dataclasses import dataclass

from roofcheck.kinds import Formula, Function, Puzzle


@dataclass(frozen=True)
class Asked:
    """A check as it stands in a cell: the question, what is handed to it, and whose variant."""

    question: str
    expression: str
    me: str = ""


def asked(source: str) -> Asked:
    """The check in a cell. Raises ValueError for a cell that is anything else.

    >>> asked('check("ps1.mine", saved_us, me)')
    Asked(question='ps1.mine', expression='saved_us', me='me')
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        body = []
    match body:
        case [ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(question)), *given], named))]:
            given += [each.value for each in named if each.arg == "me"]
            if 1 <= len(given) <= 2 and all(each.arg == "me" for each in named):
                # A sum of hundreds of terms is parsed, and too deep to be written again.
                with contextlib.suppress(RecursionError):
                    return Asked(question, *map(ast.unparse, given))
    raise ValueError(
        f'only check("ps1.question", answer) or check("ps1.question", answer, me) can be judged '
        f"outside the student's process, not {source[:80]!r}"
    )


def probe(check: Asked, question, seed) -> dict:
    """What is sent to the student's process: the check's expression, and a question's calls.

    Calls are pickled, since counting machines are among their arguments: nothing of the student's
    stands between here and where they are read.
    """
    found = {"expression": check.expression, "me": check.me}
    kind, calls = calls_of(question, seed)
    if calls:
        found |= {"kind": kind, "calls": base64.b64encode(pickle.dumps(calls)).decode()}
    return found


def calls_of(question, seed):
    """The kind of calls that a question makes, and the calls: the public ones, then the drawn."""
    drawn = question.with_cases(seed)
    if isinstance(question, Puzzle):
        return "puzzle", [case.bare() for case in (*question.cases, *drawn.cases)]
    if isinstance(question, Formula):
        cases = (*question.cases, *drawn.cases)
        return "formula", [(case, question.values(case)) for case in cases]
    if isinstance(question, Function):
        return "function", [*question.cases, *drawn.cases]
    return "", []


def digest(probe: dict) -> dict:
    """A probe as it is kept: with the hash of its calls in their place."""
    calls = hashlib.sha256(probe.get("calls", "").encode()).hexdigest()
    return probe | {"calls": calls if "calls" in probe else ""}
