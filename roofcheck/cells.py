"""Find the calls that ask a notebook's questions, such as ``check("ps1.ridge", ridge)``."""

import ast
import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

QUESTION_FUNCTIONS = ("check", "predict", "reveal", "review")
# The start of a cell that asks a question: blank lines, comments, a call, and the id if any.
CALL_OPENING = re.compile(
    rf"(?:\s|#.*\n)*({'|'.join(QUESTION_FUNCTIONS)})\s*\((?:\s*([\"'])(.*?)\2)?"
)
# A code cell in a lecture's source: its options, then its code.
CODE_CELL = re.compile(r"^```\{code-cell\}.*\n((?::.*\n)*)((?s:.*?))^```", re.MULTILINE)
PARSE_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True)
class QuestionCall:
    """A call that asks a question.

    Parameters
    ----------
    call : "check", "predict", "reveal" or "review"
    question : the question's id; "" unless the call passes it as a string literal
    expression : the source code of the answer, guess or value; "" if there is none, or if the call
        has arguments that the function doesn't accept
    me : the source code of the ``me`` argument, which selects a student's variant; or ""
    is_whole_cell : whether the cell contains nothing but the call
    """

    call: str
    question: str = ""
    expression: str = ""
    me: str = ""
    is_whole_cell: bool = True


def question_call(source: str) -> QuestionCall | None:
    """Return the call at the start of a cell's code, or None if the cell asks no question.

    >>> call = question_call('check("ps1.mine", saved_us, me)')
    >>> call.question, call.expression, call.me, call.is_whole_cell
    ('ps1.mine', 'saved_us', 'me', True)
    >>> question_call('predict("l02.ridge", ...)  # a guess').expression
    '...'

    The call is found even if more code follows it or the cell can't be parsed.

    >>> question_call('check("ps1.ridge", 240 FLOP/byte)').question
    'ps1.ridge'
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
    """Yield every question call in a cell's code, or nothing if the code is not valid Python.

    >>> [call.question for call in question_calls('if done:\\n    reveal("l02.ridge", roof.ridge)')]
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
    """Yield (cell id, call) for each of a lecture's code cells that starts with a question call.

    >>> text = "```{code-cell}\\n:id: l02-check\\ncheck('l02.ridge', ...)\\n```\\n"
    >>> [(cell, call.question) for cell, call in question_calls_in_text(text)]
    [('l02-check', 'l02.ridge')]
    """
    for options, source in CODE_CELL.findall(text):
        cell_id = re.search(r"^:id: *(\S+)", options, re.MULTILINE)
        if cell_id and (call := question_call(source)):
            yield cell_id[1], call


def _read_call(call, is_whole_cell):
    name, expression, me = call.func.id, "", ""
    match call.args:
        case [ast.Constant(str(question)), *values] if name != "review":
            students = [keyword.value for keyword in call.keywords if keyword.arg == "me"]
            only_me = len(students) == len(call.keywords)
            if only_me and values and len(values) + len(students) <= 2:
                # A sum of hundreds of terms parses, but is too deep for ast.unparse.
                with contextlib.suppress(RecursionError):
                    expression, me, *_ = (*map(ast.unparse, (*values, *students)), "")
            return QuestionCall(name, question, expression, me, is_whole_cell)
    return QuestionCall(name, is_whole_cell=is_whole_cell)
