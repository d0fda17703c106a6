"""Changes of a Python file in one place at a time; each makes a mutant."""

import ast
import re
from typing import NamedTuple

SWAPS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "%", ast.Mod: "*",
    ast.Pow: "*", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=",
    ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is", ast.In: "not in", ast.NotIn: "in",
    ast.And: "or", ast.Or: "and",
}  # fmt: skip
CALLS = {"larger": "smaller", "smaller": "larger", "max": "min", "min": "max", "ceil": "floor"}
# These say, show or declare something; only what is counted is changed.
PASSED_OVER = ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert
SHOWN = re.compile(r"_repr|__repr__|__str__|_said|_shown|_listed|_cells|_rows|_columns|_table")


class Mutant(NamedTuple):
    """A changed file: the place, the line before and after, and the whole source."""

    path: str
    line: int
    function: str
    old: str
    new: str
    source: bytes


def mutants(path, source):
    """Every change of a file: operators, comparisons, constants, flags, names, dropped terms."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node):
        first, last = starts[node.lineno - 1], starts[node.end_lineno - 1]
        return first + node.col_offset, last + node.end_col_offset

    def text(node):
        plain = isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Call)
        found = source[slice(*place(node))].decode()
        return found if plain else f"({found})"

    def walk(node, function, names, attributes):
        if isinstance(node, PASSED_OVER) or (
            isinstance(node, ast.keyword) and node.arg == "strict"
        ):
            return
        if isinstance(node, ast.FunctionDef):
            if SHOWN.search(node.name):
                return
            function, (names, attributes) = node.name, _used(node)
        for (start, end), new in _changes(node, place, text, names, attributes):
            changed = source[:start] + new.encode() + source[end:]
            first = source.rfind(b"\n", 0, start) + 1
            last = source.find(b"\n", end)
            lines = source[first:last], changed[first : last + len(changed) - len(source)]
            shown = (" ".join(each.decode().split()) for each in lines)
            yield Mutant(path, source.count(b"\n", 0, start) + 1, function, *shown, changed)
        for name, child in ast.iter_fields(node):
            if name not in ("annotation", "returns", "decorator_list"):
                for each in child if isinstance(child, list) else [child]:
                    if isinstance(each, ast.AST):
                        yield from walk(each, function, names, attributes)

    yield from walk(ast.parse(source), "", set(), {})


def _changes(node, place, text, names, attributes):
    """Pairs of place and new text for a node itself, without the nodes in it."""
    here = place(node) if hasattr(node, "lineno") else None
    match node:
        case ast.BinOp(left, op, right) if type(op) in SWAPS:
            yield here, f"{text(left)} {SWAPS[type(op)]} {text(right)}"
            yield here, text(left)
            if isinstance(op, ast.Add | ast.Mult):
                yield here, text(right)
        case ast.Compare(left, [op], [right]):
            yield here, f"{text(left)} {SWAPS[type(op)]} {text(right)}"
        case ast.BoolOp(op, values):
            yield here, f"({f' {SWAPS[type(op)]} '.join(map(text, values))})"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield here, text(operand)
        case ast.IfExp(_, body, orelse):
            yield here, text(body)
            yield here, text(orelse)
        case ast.If(test) | ast.While(test):
            yield place(test), f"not {text(test)}"
        case ast.Constant(bool() as value):
            yield here, str(not value)
        case ast.Constant(int() | float() as value):
            yield here, repr(value + 1)
        case ast.Call(ast.Name(name) as called) if name in CALLS:
            yield place(called), CALLS[name]
        case ast.Attribute(ast.Name(base), name, ast.Load()):
            for other in _next(name, attributes.get(base, ())):
                yield here, f"{base}.{other}"
        case ast.Name(name, ast.Load()):
            for other in _next(name, names):
                yield here, other


def _next(name, names):
    """What replaces a name: the next of its kind, if there is one."""
    known = sorted(names)
    return [known[known.index(name) - 1]] if name in names and len(known) > 1 else []


def _used(function):
    """The names that a function computes with, and the attributes it reads of each."""
    names, attributes = set(), {}
    called = {id(node.func) for node in ast.walk(function) if isinstance(node, ast.Call)}
    for node in ast.walk(function):
        match node:
            case ast.BinOp(left, _, right):
                names |= {side.id for side in (left, right) if isinstance(side, ast.Name)}
            case ast.Attribute(ast.Name(base), name) if id(node) not in called:
                attributes.setdefault(base, set()).add(name)
    return names, attributes
