"""The arithmetic of question tables: read from text, worked out, changed and shown.

An expression is a tree of a few kinds of nodes. Sums and products are flat, so that leaving out a
term or turning a division into a multiplication is a change of one entry. Nothing that is read is
ever run as code.

The text of a tree is written as on paper, with ``shown`` for its names: 2¹⁰, ⌈a / b⌉. The ``plain``
one is the same in every language and can be typed, so it is what parts of a tree go by.
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
# What a text writes around the argument of a function.
BRACKETS = {
    "ceil": "⌈⌉", "floor": "⌊⌋", "abs": "||", "sqrt": ("√(", ")"), "log2": ("log₂(", ")"),
}  # fmt: skip
# How tightly a kind of node binds, for the parentheses that its text needs.
CONDITIONAL, LOGICAL, COMPARISON, SUM, PRODUCT, POWER, ATOM = range(7)
# A number with a larger denominator is a decimal fraction, which is shown as one.
MAX_DENOMINATOR = 1024
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Constant:
    """A number; ``label`` is how a text shows it, if not by its digits."""

    number: float
    label: str | Sentence = ""
    precedence = ATOM

    def value(self, values: Values):
        return self.number

    def text(self, shown: Callable[[str], str], plain: bool = False) -> str:
        return f"{self.number:,.10g}" if plain else f"{self.label or format_number(self.number)}"

    def parts(self) -> tuple["Node", ...]:
        return ()

    def with_parts(self, parts) -> "Node":
        return self


@dataclass(frozen=True)
class Name:
    """An input, an earlier step, or a symbol of a formula."""

    name: str
    precedence = ATOM

    def value(self, values):
        return values[self.name]

    def text(self, shown, plain=False):
        return shown(self.name)

    def parts(self):
        return ()

    def with_parts(self, parts):
        return self


@dataclass(frozen=True)
class Sum:
    """Terms that are added, or subtracted where their ``signs`` are -1."""

    terms: tuple["Node", ...]
    signs: tuple[int, ...]
    precedence = SUM

    def value(self, values):
        total = 0
        for sign, term in zip(self.signs, self.terms, strict=True):
            total = total + term.value(values) if sign > 0 else total - term.value(values)
        return total

    def text(self, shown, plain=False):
        parts = [
            ("+ " if sign > 0 else "− ") + _format_inside(term, PRODUCT, shown, plain)
            for sign, term in zip(self.signs, self.terms, strict=True)
        ]
        text = " ".join(parts).removeprefix("+ ")
        return f"−{text[2:]}" if self.signs[0] < 0 else text

    def parts(self):
        return self.terms

    def with_parts(self, parts):
        return replace(self, terms=tuple(parts))


@dataclass(frozen=True)
class Product:
    """Factors that are multiplied, or divided by where their ``signs`` are -1."""

    factors: tuple["Node", ...]
    signs: tuple[int, ...]
    precedence = PRODUCT

    def value(self, values):
        above = below = 1
        for sign, factor in zip(self.signs, self.factors, strict=True):
            if sign > 0:
                above = above * factor.value(values)
            else:
                below = below * factor.value(values)
        return above / below if -1 in self.signs else above

    def text(self, shown, plain=False):
        above, below = (
            [
                _format_inside(each, self._min_precedence(each), shown, plain)
                for each in self.side(sign)
            ]
            for sign in (1, -1)
        )
        text = " · ".join(above or ["1"])
        if len(below) > 1:
            return f"{text} / ({' · '.join(below)})"
        return (
            f"{text} / {_format_inside(self.side(-1)[0], POWER, shown, plain)}" if below else text
        )

    def _min_precedence(self, factor):
        """How tightly a factor has to bind: a quotient among others would be read as another."""
        return POWER if isinstance(factor, Product) and -1 in factor.signs else PRODUCT

    def side(self, sign: int) -> list["Node"]:
        """The factors above the stroke, or with -1 those below."""
        return [each for each, own in zip(self.factors, self.signs, strict=True) if own == sign]

    def parts(self):
        return self.factors

    def with_parts(self, parts):
        return replace(self, factors=tuple(parts))


@dataclass(frozen=True)
class Power:
    """A base to the power of an exponent."""

    base: "Node"
    exponent: "Node"
    precedence = POWER

    def value(self, values):
        found = self.base.value(values) ** self.exponent.value(values)
        if isinstance(found, complex):
            raise ValueError("a root of a negative number")
        return found

    def text(self, shown, plain=False):
        base = _format_inside(self.base, ATOM, shown, plain)
        match self.exponent:
            case Constant(int() as whole) if not plain:
                return base + str(whole).translate(TO_SUPERSCRIPT)
        return f"{base}^{_format_inside(self.exponent, ATOM, shown, plain)}"

    def parts(self):
        return (self.base, self.exponent)

    def with_parts(self, parts):
        return Power(*parts)


@dataclass(frozen=True)
class Call:
    """One of the FUNCTIONS, called."""

    function: str
    arguments: tuple["Node", ...]
    precedence = ATOM

    def value(self, values):
        return FUNCTIONS[self.function](*(each.value(values) for each in self.arguments))

    def text(self, shown, plain=False):
        left, right = f"{self.function}(", ")"
        if not plain:
            left, right = BRACKETS.get(self.function, (left, right))
        return f"{left}{', '.join(each.text(shown, plain) for each in self.arguments)}{right}"

    def parts(self):
        return self.arguments

    def with_parts(self, parts):
        return replace(self, arguments=tuple(parts))


@dataclass(frozen=True)
class Comparison:
    """A chain of comparisons, such as ``0 < x < 1``."""

    __test__ = False  # no test, for pytest

    signs: tuple[str, ...]
    operands: tuple["Node", ...]
    precedence = COMPARISON

    def value(self, values):
        found = [each.value(values) for each in self.operands]
        known = dict(COMPARISONS.values())
        pairs = zip(self.signs, found, found[1:], strict=False)
        return all(known[sign](left, right) for sign, left, right in pairs)

    def text(self, shown, plain=False):
        words = [_format_inside(each, SUM, shown, plain) for each in self.operands]
        rest = (f" {sign} {word}" for sign, word in zip(self.signs, words[1:], strict=True))
        return words[0] + "".join(rest)

    def parts(self):
        return self.operands

    def with_parts(self, parts):
        return replace(self, operands=tuple(parts))


@dataclass(frozen=True)
class Logical:
    """Conditions that all hold, or with ``word`` "or" at least one of them."""

    word: str
    conditions: tuple["Node", ...]
    precedence = LOGICAL

    def value(self, values):
        hold = all if self.word == "and" else any
        return hold(each.value(values) for each in self.conditions)

    def text(self, shown, plain=False):
        if plain:
            return f" {self.word} ".join(
                _format_inside(each, COMPARISON, shown, plain) for each in self.conditions
            )
        first, *rest = (_format_inside(each, COMPARISON, shown, plain) for each in self.conditions)
        for each in rest:
            first = sentence(f"list.{self.word}", before=first, last=each)
        return first

    def parts(self):
        return self.conditions

    def with_parts(self, parts):
        return replace(self, conditions=tuple(parts))


@dataclass(frozen=True)
class Conditional:
    """One of two values, as a condition holds or not."""

    condition: "Node"
    then: "Node"
    other: "Node"
    precedence = CONDITIONAL

    def value(self, values):
        return (self.then if self.condition.value(values) else self.other).value(values)

    def text(self, shown, plain=False):
        then, condition, other = (
            _format_inside(each, LOGICAL, shown, plain)
            for each in (self.then, self.condition, self.other)
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
    """A text is no expression; the message says what in it is not understood."""


def read_expression(text: str, figures: Mapping[str, Callable[..., float]] = {}) -> Node:
    """The tree of an expression.

    It may hold numbers, names, + - * / // **, comparisons, ``and``, ``or``, ``a if c else b``,
    the FUNCTIONS, and calls of ``figures`` with texts, whose value is looked up at once. A figure
    that is a kind of Call is one of expressions. Raises ExpressionError for anything else.

    >>> tree = read_expression("2 * (n - 1) / n * V / W")
    >>> tree.value({"n": 4, "V": 8, "W": 3}), tree.text(str)
    (4.0, '2 · (n − 1) · V / (n · W)')
    """
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = getattr(error, "msg", "it cannot be parsed")
        raise ExpressionError(f"{text!r} is no expression: {where}") from None
    return _read_node(body, figures)


def find_names(tree: Node) -> Iterator[str]:
    """The names in a tree, each as often as it stands there."""
    if isinstance(tree, Name):
        yield tree.name
    for part in tree.parts():
        yield from find_names(part)


def suggest_name(name: str, known) -> str:
    """What a name that is not known may have been meant to be, for an error."""
    found = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {found[0]!r}?" if found else f"; known are {', '.join(known)}"


def make_product(factors: list[tuple[int, Node]]) -> Node:
    """The product of factors with their signs; the factor itself where there is but one."""
    if [sign for sign, _ in factors] == [1]:
        return factors[0][1]
    return Product(tuple(each for _, each in factors), tuple(sign for sign, _ in factors))


def make_sum(terms: list[tuple[int, Node]]) -> Node:
    """The sum of terms with their signs; the term itself where there is but one."""
    if [sign for sign, _ in terms] == [1]:
        return terms[0][1]
    return Sum(tuple(each for _, each in terms), tuple(sign for sign, _ in terms))


def substitute(tree: Node, trees: Mapping[str, Node]) -> Node:
    """The tree with others in place of names; sums and products stay flat.

    Of a product the numbers come first, as one, and what it multiplies and divides by is left out.

    >>> substitute(read_expression("2 * a / b"), {"b": read_expression("n * a / 3")}).text(str)
    '6 / n'
    """
    if isinstance(tree, Name):
        return trees.get(tree.name, tree)
    parts = [substitute(part, trees) for part in tree.parts()]
    match tree:
        case Sum(_, signs):
            return make_sum(_flatten(Sum, parts, signs))
        case Product(_, signs):
            return _cancel_factors(_flatten(Product, parts, signs))
    return tree.with_parts(parts)


def _flatten(kind, parts, signs):
    """Parts with their signs, those of a part of the same kind in its place."""
    pairs = []
    for sign, part in zip(signs, parts, strict=True):
        within = (
            zip(part.signs, part.parts(), strict=True) if isinstance(part, kind) else [(1, part)]
        )
        pairs += [(sign * inner, each) for inner, each in within]
    return pairs


def _cancel_factors(factors):
    """The product of factors with their signs, without those that cancel."""
    number, rest = Fraction(1), []
    for sign, each in factors:
        if isinstance(each, Constant) and each.number and not each.label:
            number *= Fraction(each.number) ** sign
        elif (-sign, each) in rest:
            rest.remove((-sign, each))
        else:
            rest.append((sign, each))
    above, below = number.as_integer_ratio()
    if below > MAX_DENOMINATOR:
        above, below = float(number), 1
    numbers = [(1, Constant(above))] if above != 1 or not any(s > 0 for s, _ in rest) else []
    return make_product([*numbers, *([(-1, Constant(below))] if below != 1 else []), *rest])


def _format_inside(node, least, shown, plain):
    """The text of a node inside another, in parentheses if it binds less than that needs."""
    text = node.text(shown, plain)
    binds = _precedence_of_text(text) if isinstance(node, Name | Constant) else node.precedence
    return text if binds >= least else f"({text})"


def _precedence_of_text(text):
    """How tightly what stands for a name or number binds: it may be negative, or hold signs."""
    if text.startswith("−") or " + " in text or " − " in text:
        return SUM
    # A stroke that follows a number is that of its unit.
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
            return make_sum(list(_read_terms(node, 1, figures)))
        case ast.BinOp(_, ast.Mult() | ast.Div(), _):
            return make_product(list(_read_factors(node, 1, figures)))
        case ast.BinOp(left, ast.FloorDiv(), right):
            quotient = make_product(
                [(1, _read_node(left, figures)), (-1, _read_node(right, figures))]
            )
            return Call("floor", (quotient,))
        case ast.BinOp(left, ast.Pow(), right):
            return Power(_read_node(left, figures), _read_node(right, figures))
        case ast.Compare(left, found, right) if all(type(each) in COMPARISONS for each in found):
            signs = tuple(COMPARISONS[type(each)][0] for each in found)
            return Comparison(signs, tuple(_read_node(each, figures) for each in (left, *right)))
        case ast.BoolOp(operation, parts):
            word = "and" if isinstance(operation, ast.And) else "or"
            return Logical(word, tuple(_read_node(each, figures) for each in parts))
        case ast.IfExp(condition, then, other):
            return Conditional(*(_read_node(each, figures) for each in (condition, then, other)))
        case ast.Call(ast.Name(name), arguments, []):
            return _read_call(name, arguments, figures)
    raise ExpressionError(f"{ast.unparse(node)!r} is more than a table's arithmetic")


def _read_call(name, arguments, figures):
    if name in FUNCTIONS:
        return Call(name, tuple(_read_node(each, figures) for each in arguments))
    if isinstance(figures.get(name), type):
        return figures[name](name, tuple(_read_node(each, figures) for each in arguments))
    if name not in figures:
        raise ExpressionError(f"no function {name!r}{suggest_name(name, [*FUNCTIONS, *figures])}")
    texts = [each.value for each in arguments if isinstance(each, ast.Constant)]
    if len(texts) < len(arguments):
        raise ExpressionError(f'{name} takes names in quotes, such as {name}("TPU v5e")')
    try:
        return Constant(figures[name](*texts), Sentence(f"figure.{name}", chip=texts[0]))
    except (ValueError, TypeError, AttributeError) as error:
        raise ExpressionError(f"{name}({', '.join(map(repr, texts))}): {error}") from None


def _read_terms(node, sign, figures):
    match node:
        case ast.BinOp(left, ast.Add() | ast.Sub() as operation, right):
            yield from _read_terms(left, sign, figures)
            other = sign if isinstance(operation, ast.Add) else -sign
            yield from _read_terms(right, other, figures)
        case ast.UnaryOp(ast.USub(), operand):
            yield from _read_terms(operand, -sign, figures)
        case _:
            yield sign, _read_node(node, figures)


def _read_factors(node, sign, figures):
    match node:
        case ast.BinOp(left, ast.Mult() | ast.Div() as operation, right):
            yield from _read_factors(left, sign, figures)
            other = sign if isinstance(operation, ast.Mult) else -sign
            yield from _read_factors(right, other, figures)
        case _:
            yield sign, _read_node(node, figures)
