"""The one line by which a notebook asks a question: ``check("ps1.ridge", ridge)`` and its kin."""

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

QUESTION_FUNCTIONS = ("check", "predict", "reveal", "review")
# What a cell begins with that asks: blank lines and comments, a call, and its question if it names
# one.
CALL_OPENING = re.compile(
    rf"(?:\s|#.*\n)*({'|'.join(QUESTION_FUNCTIONS)})\s*\((?:\s*([\"'])(.*?)\2)?"
)
# A code cell of a lecture's text: its options, then its code.
CODE_CELL = re.compile(r"^```\{code-cell\}.*\n((?::.*\n)*)((?s:.*?))^```", re.MULTILINE)
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class QuestionCall:
    """A call that asks a question, as it stands in a cell.

    Parameters
    ----------
    call : "check", "predict", "reveal" or "review"
    question : its id; "" where no string in the call names it
    expression : the code of the answer, guess or value that is handed in; "" where there is none,
        and where the call has arguments that it does not take
    me : the code of the student whose variant is meant; "" where none is
    is_whole_cell : whether the call is all that stands in the cell
    """

    call: str
    question: str = ""
    expression: str = ""
    me: str = ""
    is_whole_cell: bool = True


def question_call(source: str) -> QuestionCall | None:
    """The call that a cell's code begins with; None if that asks nothing.

    >>> question_call('check("ps1.mine", saved_us, me)')
    QuestionCall(call='check', question='ps1.mine', expression='saved_us', me='me', is_whole_cell=True)
    >>> question_call('predict("l02.ridge", ...)  # a guess').expression
    '...'

    A cell that has more in it, or that cannot be parsed, is known by how it begins.

    >>> question_call('check("ps1.ridge", 240 FLOP/byte)')
    QuestionCall(call='check', question='ps1.ridge', expression='', me='', is_whole_cell=False)
    >>> question_call('ridge = 240') is None
    True
    """
    opening = CALL_OPENING.match(source)
    if not opening:
        return None
    try:
        match ast.parse(source.lstrip()).body:
            case [ast.Expr(ast.Call(ast.Name()) as call), *rest]:
                return _read_call(call, is_whole_cell=not rest)
    except PARSE_ERRORS:
        return QuestionCall(opening[1], opening[3] or "", is_whole_cell=False)
    return None


def question_calls(source: str) -> Iterator[QuestionCall]:
    """Every call in a cell's code that asks, wherever it stands; none of code that is no Python.

    >>> [each.question for each in question_calls('if done:\\n    reveal("l02.ridge", roof.ridge)')]
    ['l02.ridge']
    """
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except PARSE_ERRORS:
        return
    for node in nodes:
        match node:
            case ast.Call(ast.Name(name)) if name in QUESTION_FUNCTIONS:
                yield _read_call(node, is_whole_cell=False)


def question_calls_in_text(text: str) -> Iterator[tuple[str, QuestionCall]]:
    """The call that each code cell of a lecture's text begins with, after the cell's id.

    >>> text = "```{code-cell}\\n:id: l02-check\\ncheck('l02.ridge', ...)\\n```\\n"
    >>> [(cell, found.question) for cell, found in question_calls_in_text(text)]
    [('l02-check', 'l02.ridge')]
    """
    for options, source in CODE_CELL.findall(text):
        named = re.search(r"^:id: *(\S+)", options, re.MULTILINE)
        if named and (found := question_call(source)):
            yield named[1], found


def _read_call(call, is_whole_cell):
    name, expression, me = call.func.id, "", ""
    match call.args:
        case [ast.Constant(str(question)), *given] if name != "review":
            whose = [each.value for each in call.keywords if each.arg == "me"]
            known = len(whose) == len(call.keywords)
            if known and given and len(given) + len(whose) <= 2:
                # A sum of hundreds of terms is parsed, and too deep to be written again.
                with contextlib.suppress(RecursionError):
                    expression, me, *_ = (*map(ast.unparse, (*given, *whose)), "")
            return QuestionCall(name, question, expression, me, is_whole_cell)
    return QuestionCall(name, is_whole_cell=is_whole_cell)
