"""The arithmetic of question tables: read, evaluate, change and format expressions.

An expression is a tree of nodes. Sums and products are flat, so leaving out a term or turning a
division into a multiplication changes only one entry. The text is never run as code.

``text`` formats a tree as on paper (2¹⁰, ⌈a / b⌉), with names formatted by ``format_name``. The
``plain`` text is the same in every language and easy to type, so it can identify part of a tree.
"""

import ast
import difflib
import math
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from roofcheck.reading.units import TO_SUPERSCRIPT, format_number
from roofcheck.sentences import Sentence, sentence

FUNCTIONS: dict[str, Callable] = {
    "max": max, "min": min, "ceil": math.ceil, "floor": math.floor, "round": round,
    "sqrt": math.sqrt, "log2": math.log2, "abs": abs,
}  # fmt: skip
COMPARISONS = {
    ast.Lt: ("<", operator.lt), ast.LtE: ("≤", operator.le), ast.Gt: (">", operator.gt),
    ast.GtE: ("≥", operator.ge), ast.Eq: ("=", operator.eq), ast.NotEq: ("≠", operator.ne),
}  # fmt: skip
# The brackets around a function's argument in formatted text.
BRACKETS = {
    "ceil": "⌈⌉", "floor": "⌊⌋", "abs": "||", "sqrt": ("√(", ")"), "log2": ("log₂(", ")"),
}  # fmt: skip
# Precedences of node kinds, which determine where parentheses are needed.
CONDITIONAL, LOGICAL, COMPARISON, SUM, PRODUCT, POWER, ATOM = range(7)
# A number with a larger denominator is shown as a decimal fraction.
MAX_DENOMINATOR = 1024
Values = Mapping[str, Any]


class _Node:
    """A node of a tree; ``children`` names the field with its parts, if any."""

    children = ""

    def parts(self) -> tuple["Node", ...]:
        return getattr(self, self.children) if self.children else ()

    def with_parts(self, parts) -> "Node":
        return replace(self, **{self.children: tuple(parts)}) if self.children else self


class _Chain(_Node):
    """A sum or product, whose parts have signs."""

    @classmethod
    def of(cls, pairs: list[tuple[int, "Node"]]) -> "Node":
        """Return the chain of (sign, part) pairs; a single part is returned unchanged."""
        if [sign for sign, _ in pairs] == [1]:
            return pairs[0][1]
        return cls(tuple(part for _, part in pairs), tuple(sign for sign, _ in pairs))


@dataclass(frozen=True)
class Constant(_Node):
    """A number, formatted as its ``label`` if it has one."""

    number: float
    label: str | Sentence = ""
    precedence = ATOM

    def value(self, values: Values):
        return self.number

    def text(self, format_name: Callable[[str], str], plain: bool = False) -> str:
        return f"{self.number:,.10g}" if plain else f"{self.label or format_number(self.number)}"


@dataclass(frozen=True)
class Name(_Node):
    """An input, an earlier step, or a symbol of a formula."""

    name: str
    precedence = ATOM

    def value(self, values):
        return values[self.name]

    def text(self, format_name, plain=False):
        return format_name(self.name)


@dataclass(frozen=True)
class Sum(_Chain):
    """Terms to add, or to subtract if their ``signs`` are -1."""

    terms: tuple["Node", ...]
    signs: tuple[int, ...]
    precedence, children = SUM, "terms"

    def value(self, values):
        total = 0
        for sign, term in zip(self.signs, self.terms, strict=True):
            total = total + term.value(values) if sign > 0 else total - term.value(values)
        return total

    def text(self, format_name, plain=False):
        parts = [
            ("+ " if sign > 0 else "− ") + _format_inside(term, PRODUCT, format_name, plain)
            for sign, term in zip(self.signs, self.terms, strict=True)
        ]
        text = " ".join(parts).removeprefix("+ ")
        return f"−{text[2:]}" if self.signs[0] < 0 else text


@dataclass(frozen=True)
class Product(_Chain):
    """Factors to multiply, or to divide by if their ``signs`` are -1."""

    factors: tuple["Node", ...]
    signs: tuple[int, ...]
    precedence, children = PRODUCT, "factors"

    def value(self, values):
        above = below = 1
        for sign, factor in zip(self.signs, self.factors, strict=True):
            if sign > 0:
                above = above * factor.value(values)
            else:
                below = below * factor.value(values)
        return above / below if -1 in self.signs else above

    def text(self, format_name, plain=False):
        above, below = (
            [
                _format_inside(factor, self._min_precedence(factor), format_name, plain)
                for factor in self.side(sign)
            ]
            for sign in (1, -1)
        )
        text = " · ".join(above or ["1"])
        if len(below) > 1:
            return f"{text} / ({' · '.join(below)})"
        if not below:
            return text
        return f"{text} / {_format_inside(self.side(-1)[0], POWER, format_name, plain)}"

    def _min_precedence(self, factor):
        """Return the lowest precedence of a factor without parentheses; a quotient needs them."""
        return POWER if isinstance(factor, Product) and -1 in factor.signs else PRODUCT

    def side(self, sign: int) -> list["Node"]:
        """Return the factors of the numerator, or with -1 those of the denominator."""
        pairs = zip(self.factors, self.signs, strict=True)
        return [factor for factor, own_sign in pairs if own_sign == sign]


@dataclass(frozen=True)
class Power:
    """A base to the power of an exponent."""

    base: "Node"
    exponent: "Node"
    precedence = POWER

    def value(self, values):
        power = self.base.value(values) ** self.exponent.value(values)
        if isinstance(power, complex):
            raise ValueError("a root of a negative number")
        return power

    def text(self, format_name, plain=False):
        base = _format_inside(self.base, ATOM, format_name, plain)
        match self.exponent:
            case Constant(int() as whole) if not plain:
                return base + str(whole).translate(TO_SUPERSCRIPT)
        return f"{base}^{_format_inside(self.exponent, ATOM, format_name, plain)}"

    def parts(self):
        return (self.base, self.exponent)

    def with_parts(self, parts):
        return Power(*parts)


@dataclass(frozen=True)
class Call(_Node):
    """A call of one of the FUNCTIONS."""

    function: str
    arguments: tuple["Node", ...]
    precedence, children = ATOM, "arguments"

    def value(self, values):
        return FUNCTIONS[self.function](*(argument.value(values) for argument in self.arguments))

    def text(self, format_name, plain=False):
        left, right = f"{self.function}(", ")"
        if not plain:
            left, right = BRACKETS.get(self.function, (left, right))
        texts = (argument.text(format_name, plain) for argument in self.arguments)
        return f"{left}{', '.join(texts)}{right}"


@dataclass(frozen=True)
class Comparison(_Node):
    """A chain of comparisons, such as ``0 < x < 1``."""

    __test__ = False  # pytest must not collect it

    signs: tuple[str, ...]
    operands: tuple["Node", ...]
    precedence, children = COMPARISON, "operands"

    def value(self, values):
        operands = [operand.value(values) for operand in self.operands]
        functions = dict(COMPARISONS.values())
        pairs = zip(self.signs, operands, operands[1:], strict=False)
        return all(functions[sign](left, right) for sign, left, right in pairs)

    def text(self, format_name, plain=False):
        words = [_format_inside(operand, SUM, format_name, plain) for operand in self.operands]
        rest = (f" {sign} {word}" for sign, word in zip(self.signs, words[1:], strict=True))
        return words[0] + "".join(rest)


@dataclass(frozen=True)
class Logical(_Node):
    """Conditions joined by ``word``, which is "and" or "or"."""

    word: str
    conditions: tuple["Node", ...]
    precedence, children = LOGICAL, "conditions"

    def value(self, values):
        hold = all if self.word == "and" else any
        return hold(condition.value(values) for condition in self.conditions)

    def text(self, format_name, plain=False):
        texts = [_format_inside(part, COMPARISON, format_name, plain) for part in self.conditions]
        if plain:
            return f" {self.word} ".join(texts)
        first, *rest = texts
        for text in rest:
            first = sentence(f"list.{self.word}", before=first, last=text)
        return first


@dataclass(frozen=True)
class Conditional:
    """One of two values, depending on whether a condition holds."""

    condition: "Node"
    then: "Node"
    other: "Node"
    precedence = CONDITIONAL

    def value(self, values):
        return (self.then if self.condition.value(values) else self.other).value(values)

    def text(self, format_name, plain=False):
        then, condition, other = (
            _format_inside(part, LOGICAL, format_name, plain)
            for part in (self.then, self.condition, self.other)
        )
        if plain:
            return f"{then} if {condition} else {other}"
        return sentence("derivation.either", then=then, condition=condition, other=other)

    def parts(self):
        return (self.condition, self.then, self.other)

    def with_parts(self, parts):
        return Conditional(*parts)


Node = Constant | Name | Sum | Product | Power | Call | Comparison | Logical | Conditional


class ExpressionError(ValueError):
    """A text is not an expression; the message names the part that can't be read."""


def read_expression(text: str, figures: Mapping[str, Callable[..., float]] = {}) -> Node:
    """Return the tree of an expression.

    It may contain numbers, names, + - * / // **, comparisons, ``and``, ``or``, ``a if c else b``,
    the FUNCTIONS, and calls of ``figures`` with string arguments, which are evaluated immediately.
    A figure that is a subclass of Call takes expressions. Raises ExpressionError for anything else.

    >>> tree = read_expression("2 * (n - 1) / n * V / W")
    >>> tree.value({"n": 4, "V": 8, "W": 3}), tree.text(str)
    (4.0, '2 · (n − 1) · V / (n · W)')
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = getattr(error, "msg", "it cannot be parsed")
        raise ExpressionError(f"{text!r} isn't an expression: {where}") from None
    return _read_node(body, figures)


def find_names(tree: Node) -> Iterator[str]:
    """Yield the names in a tree, with repetitions."""
    if isinstance(tree, Name):
        yield tree.name
    for part in tree.parts():
        yield from find_names(part)


def suggest_name(name: str, known) -> str:
    """Return the end of an error about an unknown name: the closest known name, or all of them."""
    nearest = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else f"; known are {', '.join(known)}"


def substitute(tree: Node, trees: Mapping[str, Node]) -> Node:
    """Replace names in a tree with other trees; sums and products stay flat.

    Products are simplified: numbers are merged and come first, and equal factors cancel.

    >>> substitute(read_expression("2 * a / b"), {"b": read_expression("n * a / 3")}).text(str)
    '6 / n'
    """
    if isinstance(tree, Name):
        return trees.get(tree.name, tree)
    parts = [substitute(part, trees) for part in tree.parts()]
    match tree:
        case Sum(_, signs):
            return Sum.of(_flatten(Sum, parts, signs))
        case Product(_, signs):
            return _cancel_factors(_flatten(Product, parts, signs))
    return tree.with_parts(parts)


def _flatten(kind, parts, signs):
    """Return (sign, part) pairs; a part of the same kind is replaced by its own parts."""
    pairs = []
    for sign, part in zip(signs, parts, strict=True):
        within = (
            zip(part.signs, part.parts(), strict=True) if isinstance(part, kind) else [(1, part)]
        )
        pairs += [(sign * inner_sign, inner) for inner_sign, inner in within]
    return pairs


def _cancel_factors(factors):
    number, rest = Fraction(1), []
    for sign, factor in factors:
        if isinstance(factor, Constant) and factor.number and not factor.label:
            number *= Fraction(factor.number) ** sign
        elif (-sign, factor) in rest:
            rest.remove((-sign, factor))
        else:
            rest.append((sign, factor))
    above, below = number.as_integer_ratio()
    if below > MAX_DENOMINATOR:
        above, below = float(number), 1
    numbers = [(1, Constant(above))] if above != 1 or not any(s > 0 for s, _ in rest) else []
    return Product.of([*numbers, *([(-1, Constant(below))] if below != 1 else []), *rest])


def _format_inside(node, least, format_name, plain):
    """Return the text of a node, in parentheses if its precedence is below ``least``."""
    text = node.text(format_name, plain)
    binds = _precedence_of_text(text) if isinstance(node, Name | Constant) else node.precedence
    return text if binds >= least else f"({text})"


def _precedence_of_text(text):
    """Return the precedence of a formatted name or number, which may contain signs."""
    if text.startswith("−") or " + " in text or " − " in text:
        return SUM
    # A slash after a number belongs to its unit.
    if " · " in text or ("/" in text and not text[0].isdigit()):
        return PRODUCT
    return POWER if " " in text else ATOM


def _read_node(node, figures) -> Node:
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return Constant(node.value)
        case ast.Name(name):
            return Name(name)
        case ast.UnaryOp(ast.USub(), operand):
            inner = _read_node(operand, figures)
            return Constant(-inner.number) if isinstance(inner, Constant) else Sum((inner,), (-1,))
        case ast.BinOp(_, ast.Add() | ast.Sub(), _):
            return Sum.of(list(_read_chain(node, 1, figures, ast.Add, ast.Sub)))
        case ast.BinOp(_, ast.Mult() | ast.Div(), _):
            return Product.of(list(_read_chain(node, 1, figures, ast.Mult, ast.Div)))
        case ast.BinOp(left, ast.FloorDiv(), right):
            quotient = Product.of(
                [(1, _read_node(left, figures)), (-1, _read_node(right, figures))]
            )
            return Call("floor", (quotient,))
        case ast.BinOp(left, ast.Pow(), right):
            return Power(_read_node(left, figures), _read_node(right, figures))
        case ast.Compare(left, signs, right) if all(type(sign) in COMPARISONS for sign in signs):
            signs = tuple(COMPARISONS[type(sign)][0] for sign in signs)
            return Comparison(signs, tuple(_read_node(part, figures) for part in (left, *right)))
        case ast.BoolOp(operation, parts):
            word = "and" if isinstance(operation, ast.And) else "or"
            return Logical(word, tuple(_read_node(part, figures) for part in parts))
        case ast.IfExp(condition, then, other):
            return Conditional(*(_read_node(part, figures) for part in (condition, then, other)))
        case ast.Call(ast.Name(name), arguments, []):
            return _read_call(name, arguments, figures)
    raise ExpressionError(f"{ast.unparse(node)!r} isn't supported in a table's arithmetic")


def _read_call(name, arguments, figures):
    if name in FUNCTIONS:
        return Call(name, tuple(_read_node(part, figures) for part in arguments))
    if isinstance(figures.get(name), type):
        return figures[name](name, tuple(_read_node(part, figures) for part in arguments))
    if name not in figures:
        raise ExpressionError(f"no function {name!r}{suggest_name(name, [*FUNCTIONS, *figures])}")
    texts = [part.value for part in arguments if isinstance(part, ast.Constant)]
    if len(texts) < len(arguments):
        raise ExpressionError(f'{name} takes names in quotes, such as {name}("TPU v5e")')
    try:
        return Constant(figures[name](*texts), Sentence(f"figure.{name}", chip=texts[0]))
    except (ValueError, TypeError, AttributeError) as error:
        raise ExpressionError(f"{name}({', '.join(map(repr, texts))}): {error}") from None


def _read_chain(node, sign, figures, operation, inverse):
    """Yield the terms or factors of nested operations, each with its sign."""
    match node:
        case ast.BinOp(left, operator, right) if isinstance(operator, (operation, inverse)):
            yield from _read_chain(left, sign, figures, operation, inverse)
            right_sign = sign if isinstance(operator, operation) else -sign
            yield from _read_chain(right, right_sign, figures, operation, inverse)
        case ast.UnaryOp(ast.USub(), operand) if operation is ast.Add:
            yield from _read_chain(operand, -sign, figures, operation, inverse)
        case _:
            yield sign, _read_node(node, figures)
