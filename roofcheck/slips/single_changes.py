"""Mistakes that are possible in any derivation, such as a changed operation or missing factor.

A change alters one place in one step of a derivation, and its sentence describes only what was done
there.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from roofcheck.reading.units import DIMENSIONS
from roofcheck.sentences import Sentence
from roofcheck.steps.algebra import (
    Call,
    Conditional,
    Constant,
    Name,
    Node,
    Power,
    Product,
    Sum,
    find_names,
)
from roofcheck.steps.derivation import Derivation, Step
from roofcheck.steps.inputs import Input

TWO = Constant(2)
# Names this short are symbols and are shown as they are.
SYMBOL_LETTERS = 2
# Prefixes of the kinds of change that replace a max or min.
EXTREME_KINDS = ("max-", "min-")
SCALE_KINDS = {"doubled": (2, 1), "halved": (2, -1), "eightfold": (8, 1), "eighth": (8, -1)}
SELDOM_KINDS = ("squared", *SCALE_KINDS)


@dataclass(frozen=True)
class SingleChange:
    """One change of a derivation: its name (the same in every draw), its result and its sentence.

    ``where`` names the wrong part, and ``left_out`` the missing input, if any. If
    ``holds_for_value``, the sentence is true of the number itself ("that is T_math"), however it
    was computed. If ``is_seldom``, the change is reported only if nothing else matches.
    """

    name: str
    derivation: Derivation
    says: Sentence
    where: str | Sentence
    left_out: str = ""
    holds_for_value: bool = False
    is_seldom: bool = False


@dataclass(frozen=True)
class TreeChange:
    """A tree with one changed place, the kind of change, and the nodes named in its sentence."""

    tree: Node
    kind: str
    about: Mapping[str, Node]


def list_single_changes(
    derivation: Derivation, inputs: Mapping[str, Input]
) -> Iterator[SingleChange]:
    """Yield every change of every step, and each earlier step given as the answer.

    Later steps come first: if two changes give the same value, the later one says more.
    """
    symbols = [name for name in derivation.names if name not in inputs]
    words = _ChangeWording(derivation, inputs)
    last = derivation.steps[-1]
    for step in reversed(derivation.steps):
        if step is not last:
            says = Sentence("act.given", what=step.what or step.name, wanted=last.what or last.name)
            given, place = derivation.stopped_at(step), words.name_part(step.name)
            yield SingleChange(f"{step.name} given", given, says, place, holds_for_value=True)
        for change in (
            *list_tree_changes(step.tree),
            *_swap_changes(step, inputs),
            *_scale_changes(step, symbols),
        ):
            # A last step that is reduced to one name is an input; ``list_input_slips`` reports it.
            bare = step is last and isinstance(change.tree, Name)
            if not bare or change.kind.startswith(EXTREME_KINDS):
                yield words.make_change(step, change)


class _DeferredText:
    """A part of a step, formatted only when a message shows it."""

    def __init__(self, node, symbol):
        self._node, self._symbol = node, symbol

    def __str__(self):
        return self._node.text(self._symbol)


class _ChangeWording:
    """Names for a question's inputs, steps and parts of steps, for use in sentences."""

    def __init__(self, derivation, inputs):
        self._derivation = derivation
        self._names = {step.name: step.what or step.name for step in derivation.steps}
        self._names |= {name: figure.what or name for name, figure in inputs.items()}

    def name_part(self, node: Node | str) -> str | Sentence:
        match node:
            case str() as name:
                return self._names.get(name, name)
            case Name(name):
                return self._names.get(name, name)
            case Constant(_, label="") as number:
                return Sentence("act.number", number=number.text(str))
        return _DeferredText(node, self._symbol)

    def _symbol(self, name):
        """Return a symbol such as n unchanged, and spell out a longer name."""
        return name if len(name) <= SYMBOL_LETTERS else str(self.name_part(name))

    def make_change(self, step: Step, change: TreeChange) -> SingleChange:
        plain = {name: node.text(str, plain=True) for name, node in change.about.items()}
        fields = {name: self.name_part(node) for name, node in change.about.items()}
        what = change.about["what"]
        alone = step is self._derivation.steps[-1] and isinstance(what, Name)
        step_name = self.name_part(step.name)
        place = fields["what"] if alone else step_name
        fields = plain if change.kind == "short" else fields
        left_out = change.kind == "left-out" and isinstance(what, Name)
        # A max of times has its own sentences.
        timed = DIMENSIONS.get(step.unit) == "time" and change.kind.startswith(EXTREME_KINDS[0])
        key = f"act.{change.kind}-time" if timed else f"act.{change.kind}"
        return SingleChange(
            f"{step.name}: {change.kind} {', '.join(plain.values())}",
            self._derivation.with_step(step.name, change.tree),
            Sentence(key, **fields, step=step_name),
            place,
            what.name if left_out else "",
            holds_for_value=change.kind.startswith(EXTREME_KINDS),
            is_seldom=change.kind in SELDOM_KINDS,
        )


def list_tree_changes(tree: Node) -> Iterator[TreeChange]:
    yield from _root_changes(tree)
    parts = tree.parts()
    for number, part in enumerate(parts):
        for change in list_tree_changes(part):
            changed = (*parts[:number], change.tree, *parts[number + 1 :])
            yield TreeChange(tree.with_parts(changed), change.kind, change.about)


def _root_changes(tree):
    match tree:
        case Sum(terms, signs):
            yield from _sum_changes(tree, list(zip(signs, terms, strict=True)))
        case Product(factors, signs):
            yield from _product_changes(tree, list(zip(signs, factors, strict=True)))
        case Power(base, _):
            yield TreeChange(base, "power", {"what": tree})
        case Call("max" | "min", [_, _, *_]):
            yield from _extreme_changes(tree)
        case Call("ceil" | "floor" as function, [argument]):
            yield TreeChange(argument, "unrounded", {"what": argument})
            other = "floor" if function == "ceil" else "ceil"
            yield TreeChange(Call(other, (argument,)), f"to-{other}", {"what": argument})
        case Call("sqrt" | "log2", [argument]):
            yield TreeChange(argument, "function", {"what": argument})
        case Conditional(_, then, other):
            yield TreeChange(then, "branch", {"what": then})
            yield TreeChange(other, "branch", {"what": other})


def _sum_changes(tree, terms):
    for number, (sign, term) in enumerate(terms):
        others = terms[:number] + terms[number + 1 :]
        rest = Sum.of(others)
        if others and isinstance(term, Constant):
            yield TreeChange(rest, "short", {"what": rest, "whole": tree})
        elif others:
            yield TreeChange(rest, "left-out", {"what": term})
        if number:
            kind = "added" if sign < 0 else "subtracted"
            flipped = Sum.of([*terms[:number], (-sign, term), *terms[number + 1 :]])
            yield TreeChange(flipped, kind, {"what": term})
        if number and len(terms) == 2 and all(s > 0 and isinstance(t, Name) for s, t in terms):
            half = Product.of([(1, tree), (-1, TWO)])
            yield TreeChange(half, "mean", {"what": tree})
        if not isinstance(term, Constant):
            double = (sign, Product.of([(1, TWO), (1, term)]))
            twice = Sum.of([*terms[:number], double, *terms[number + 1 :]])
            yield TreeChange(twice, "twice", {"what": term})


def _product_changes(tree, factors):
    for number, (sign, factor) in enumerate(factors):
        others = factors[:number] + factors[number + 1 :]
        flipped = Product.of([*factors[:number], (-sign, factor), *factors[number + 1 :]])
        if others:
            yield TreeChange(Product.of(others), "left-out", {"what": factor})
        yield TreeChange(flipped, "divided" if sign > 0 else "multiplied", {"what": factor})
        yield TreeChange(Product.of([*factors, (sign, factor)]), "squared", {"what": factor})
        if isinstance(factor, Sum) and others:
            yield TreeChange(_without_parentheses(factors, number), "parentheses", {"what": factor})
    below = [pair for pair in factors if pair[0] < 0]
    above = [pair for pair in factors if pair[0] > 0]
    if below:
        turned = Product.of([(-sign, factor) for sign, factor in factors])
        yield TreeChange(turned, "turned", {"what": tree})
        if len(above) == len(below) == 1:
            difference = Sum.of([(1, above[0][1]), (-1, below[0][1])])
            yield TreeChange(difference, "difference", {"what": below[0][1]})
    if len(below) > 1 and above:
        divisor = Product.of([(1, factor) for _, factor in below])
        yield TreeChange(Product.of(above), "undivided", {"what": divisor})


def _without_parentheses(factors, number):
    """Return a product without the parentheses around factor ``number``, which is a sum.

    Factors before the sum then multiply its first term, and factors after it its last term.
    """
    sign, inner = factors[number]
    terms = list(inner.terms)
    terms[0] = Product.of([*factors[:number], (sign, terms[0])])
    terms[-1] = Product.of([(1, terms[-1]), *factors[number + 1 :]])
    return Sum.of(list(zip(inner.signs, terms, strict=True)))


def _extreme_changes(tree):
    kind, arguments = tree.function, tree.arguments
    other = "min" if kind == "max" else "max"
    everything = Sum.of([(1, argument) for argument in arguments])
    about = {"what": tree}
    yield TreeChange(everything, f"{kind}-sum", about)
    for argument in arguments:
        yield TreeChange(argument, f"{kind}-alone", {"what": argument})
    # With two numbers, this equals one argument alone; with two columns, it does not.
    yield TreeChange(Call(other, arguments), f"{kind}-other", about)
    if len(arguments) == 2:
        difference = Sum.of([(1, arguments[0]), (-1, arguments[1])])
        yield TreeChange(Call("abs", (difference,)), f"{kind}-difference", about)
    mean = Product.of([(1, everything), (-1, Constant(len(arguments)))])
    yield TreeChange(mean, f"{kind}-mean", about)
    if len(arguments) > 2:
        for number, argument in enumerate(arguments):
            rest = arguments[:number] + arguments[number + 1 :]
            yield TreeChange(Call(kind, rest), "left-out", {"what": argument})


def _swap_changes(step, inputs):
    figures = {name: figure for name, figure in inputs.items() if figure.what}
    for name in dict.fromkeys(find_names(step.tree)):
        for other, given in figures.items():
            if name in figures and other != name and given.unit == figures[name].unit:
                tree = _replace_name(step.tree, name, Name(other))
                yield TreeChange(tree, "swapped", {"what": Name(name), "other": Name(other)})


def _scale_changes(step, symbols):
    for name in dict.fromkeys(find_names(step.tree)):
        if name in symbols:
            for kind, (factor, sign) in SCALE_KINDS.items():
                other = Product.of([(1, Name(name)), (sign, Constant(factor))])
                yield TreeChange(_replace_name(step.tree, name, other), kind, {"what": Name(name)})


def _replace_name(tree, name, other):
    if isinstance(tree, Name):
        return other if tree.name == name else tree
    return tree.with_parts(tuple(_replace_name(part, name, other) for part in tree.parts()))
