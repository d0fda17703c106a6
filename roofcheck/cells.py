"""The one line by which a notebook asks a question: ``check("ps1.ridge", ridge)`` and its kin."""

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

CALLS = ("check", "predict", "reveal", "review")
# What a cell begins with that asks: blank lines and comments, a call, and its question if it names
# one.
OPENING = re.compile(rf"(?:\s|#.*\n)*({'|'.join(CALLS)})\s*\((?:\s*([\"'])(.*?)\2)?")
# A code cell of a lecture's text: its options, then its code.
FENCE = re.compile(r"^```\{code-cell\}.*\n((?::.*\n)*)((?s:.*?))^```", re.MULTILINE)
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class Asked:
    """A call that asks a question, as it stands in a cell.

    Parameters
    ----------
    call : "check", "predict", "reveal" or "review"
    question : its id; "" where no string in the call names it
    expression : the code of the answer, guess or value that is handed in; "" where there is none,
        and where the call has arguments that it does not take
    me : the code of the student whose variant is meant; "" where none is
    alone : whether the call is all that stands in the cell
    """

    call: str
    question: str = ""
    expression: str = ""
    me: str = ""
    alone: bool = True


def asked(source: str) -> Asked | None:
    """The call that a cell's code begins with; None if that asks nothing.

    >>> asked('check("ps1.mine", saved_us, me)')
    Asked(call='check', question='ps1.mine', expression='saved_us', me='me', alone=True)
    >>> asked('predict("l02.ridge", ...)  # a guess').expression
    '...'

    A cell that has more in it, or that cannot be parsed, is known by how it begins.

    >>> asked('check("ps1.ridge", 240 FLOP/byte)')
    Asked(call='check', question='ps1.ridge', expression='', me='', alone=False)
    >>> asked('ridge = 240') is None
    True
    """
    opening = OPENING.match(source)
    if not opening:
        return None
    try:
        match ast.parse(source.lstrip()).body:
            case [ast.Expr(ast.Call(ast.Name()) as call), *rest]:
                return _read(call, alone=not rest)
    except UNREADABLE:
        return Asked(opening[1], opening[3] or "", alone=False)
    return None


def calls(source: str) -> Iterator[Asked]:
    """Every call in a cell's code that asks, wherever it stands; none of code that is no Python.

    >>> [each.question for each in calls('if done:\\n    reveal("l02.ridge", roof.ridge)')]
    ['l02.ridge']
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except UNREADABLE:
        return
    for node in nodes:
        match node:
            case ast.Call(ast.Name(name)) if name in CALLS:
                yield _read(node, alone=False)


def in_text(text: str) -> Iterator[tuple[str, Asked]]:
    """The call that each code cell of a lecture's text begins with, after the cell's id.

    >>> text = "```{code-cell}\\n:id: l02-check\\ncheck('l02.ridge', ...)\\n```\\n"
    >>> [(cell, found.question) for cell, found in in_text(text)]
    [('l02-check', 'l02.ridge')]
    """
    for options, source in FENCE.findall(text):
        named = re.search(r"^:id: *(\S+)", options, re.MULTILINE)
        if named and (found := asked(source)):
            yield named[1], found


def _read(call, alone):
    name, expression, me = call.func.id, "", ""
    match call.args:
        case [ast.Constant(str(question)), *given] if name != "review":
            whose = [each.value for each in call.keywords if each.arg == "me"]
            known = len(whose) == len(call.keywords)
            if known and given and len(given) + len(whose) <= 2:
                # A sum of hundreds of terms is parsed, and too deep to be written again.
                with contextlib.suppress(RecursionError):
                    expression, me, *_ = (*map(ast.unparse, (*given, *whose)), "")
            return Asked(name, question, expression, me, alone)
    return Asked(name, alone=alone)
