"""Read questions from TOML tables: inputs, steps, slips and sentences.

roofcheck/README.md describes the tables. If an expression is wrong, the error names its file and
line.
"""

import functools
import random
import re
import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import roofkit as rk
from roofcheck import kinds
from roofcheck.kinds.question import choose_other_chips, format_figures, redraw_inputs
from roofcheck.kinds.reports import OwnFigure, Rule
from roofcheck.reading import units
from roofcheck.showing import context
from roofcheck.slips.question_slips import Slip
from roofcheck.steps import inputs as kinds_of_input
from roofcheck.steps.algebra import (
    ATOM,
    Call,
    Comparison,
    ExpressionError,
    Node,
    find_names,
    read_expression,
    suggest_name,
)
from roofcheck.steps.derivation import Derivation, Step, make_step
from roofcheck.steps.inputs import Input, Mistaken
from roofcheck.tables.puzzle_cases import CASES
from rooflab import published

# The specs of any chip, for slips that use another chip.
FIGURES = {
    "peak": lambda chip, dtype="bf16": float(rk.chip(chip).peak_flops(dtype)),
    "bandwidth": lambda chip: float(rk.chip(chip).bandwidth),
    "capacity": lambda chip: float(rk.chip(chip).capacity),
    "ridge": lambda chip, dtype="bf16": rk.chip(chip).roofline(dtype).ridge,
    "link": lambda chip: rk.chip(chip).interconnect.total,
    "one_link": lambda chip: float(rk.chip(chip).interconnect.bandwidth),
    "links": lambda chip: rk.chip(chip).interconnect.links,
    "measured": lambda gpu, model, *shape: 1e-6 * _read_timings(gpu)[model][*map(int, shape)],
}
# The keys of each kind of input, and the keys of every input.
INPUT_KEYS = {
    "count": ("what", "unit", "draw"),
    "peak": ("dtype", "others", "dtypes", "sparse", "printed_sparse"),
    "printed_peak": (),
    "bandwidth": ("others", "link"),
    "link": ("others", "topology", "peers"),
    "one_link": (),
    "itemsize": ("of",),
    "fma": (),
}
COMMON_INPUT_KEYS = ("instead", "without", "two")
# The keys of every question.
QUESTION_KEYS = (
    "asks", "beside", "chips", "not_reviewed", "inputs", "how", "praise", "points", "holds", "uses",
    "kind",
)  # fmt: skip
COMPUTED_KEYS = ("unit", "rtol", "steps", "slips", "half", "exact")
KEYS_BY_KIND = {
    "number": (*QUESTION_KEYS, *COMPUTED_KEYS, "usual", "figure", "beyond", "symbols"),
    "several": (*QUESTION_KEYS, "steps", "slips", "parts", "swapped"),
    "report": (*QUESTION_KEYS, "steps", "slips", "parts", "rules"),
    "formula": (*QUESTION_KEYS, *COMPUTED_KEYS, "arguments", "cancels"),
    "function": (
        *QUESTION_KEYS, "unit", "rtol", "steps", "slips", "half", "arguments", "case", "results",
    ),
    "forecast": (
        *QUESTION_KEYS, "unit", "steps", "arguments", "results", "gpu", "model", "bound", "credit",
        "inside", "widest",
    ),
    "choice": (*QUESTION_KEYS, "right", "why_not", "also"),
    "order": (
        *QUESTION_KEYS, "items", "each", "steps", "slips", "apart", "right", "needs",
        "reversed_says", "shows",
    ),
    "puzzle": (
        *QUESTION_KEYS, "case", "case_count", "credit", "steps", "slips", "faults", "best_schedule",
    ),
}  # fmt: skip
# A part of a question is a number question that names its step, or a report's own figure.
PART_KEYS = (*KEYS_BY_KIND["number"], "step")
OWN_KEYS = ("asks", "input", "between", "one_of", "whole")
RESULT = ("step", "unit", "slips")
# The text keys of an order's item; its other keys are numbers.
SAID = ("text", "why")
# The keys of a question that copies another one with new numbers.
LIKE_KEYS = ("like", "seed", "points")
# The keys that several questions can share.
GROUP_TABLES = ("inputs", "steps", "slips")
GROUP_KEYS = (*GROUP_TABLES, "beside")


class TableError(ValueError):
    """A table has an error; the message names the file, the line and the fix."""


def read_table(
    path: Path, words: Path | None = None, known: Mapping[str, kinds.Question] = {}
) -> dict[str, kinds.Question]:
    """Return a file's questions by id; ``words`` is the file with their translation.

    Raises TableError, as ``read_questions`` does.
    """
    has_words = words is not None and words.is_file()
    translation = _parse_toml(words.read_text(encoding="utf-8"), words) if has_words else {}
    return read_questions(path.read_text(encoding="utf-8"), path, translation, known)


def read_questions(
    text: str,
    where: Path | str = "table",
    words: Mapping = {},
    known: Mapping[str, kinds.Question] = {},
) -> dict[str, kinds.Question]:
    """Return a table's questions by id.

    ``where`` is the table's name in errors, and ``words`` is its translation. An entry can be
    ``like`` one of the ``known`` questions. Raises TableError if the table has an error.
    """
    table = _translate(_parse_toml(text, where), words)
    groups = table.pop("shared", {})
    questions = {}
    for name, entry in table.items():
        try:
            for group, shared in groups.items():
                _check_keys(shared, GROUP_KEYS, f"shared.{group}")
            if "like" in entry:
                questions[name] = _make_redrawn_question(entry, known)
            else:
                questions[name] = _make_question(_merge_groups(entry, groups))
        except (KeyError, TypeError, ValueError) as error:
            what = f"{error.args[0]} is missing" if isinstance(error, KeyError) else f"{error}"
            line = _find_line(text, name, what)
            raise TableError(f"{where}, line {line}: {name}: {what}") from None
    return questions


def _parse_toml(text, where):
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise TableError(f"{where}: {error}") from None


def _find_line(text, name, what):
    """Return the line of the text or key that an error quotes, or else the question's line."""
    start = max(text.find(f'["{name}"'), 0)
    quoted = map(re.escape, re.findall(r"'(.+?)'", what.partition("; did you mean")[0]))
    patterns = (form.format(each) for each in quoted for form in ('"{}"', '{}"? *[=.]', "{}"))
    found = (re.compile(pattern).search(text, start) for pattern in patterns)
    place = next((match.start() for match in found if match), start)
    return text.count("\n", 0, place) + 1


def _make_question(entry):
    kind = entry.pop("kind", "number")
    if kind not in KEYS_BY_KIND:
        raise TableError(f"no kind {kind!r}{suggest_name(kind, KEYS_BY_KIND)}")
    _check_keys(entry, KEYS_BY_KIND[kind], kind)
    inputs = {name: _make_input(name, given) for name, given in entry.pop("inputs", {}).items()}
    if "holds" in entry:
        entry["holds"] = _Condition(_read_known(entry["holds"], inputs))
    made = MAKERS[kind](entry, inputs)
    if wrong := context.find_problems(made):
        raise TableError(f"beside: {wrong[0]}")
    return made


def _make_redrawn_question(entry, known):
    """Return a copy of another question with new numbers drawn from the seed."""
    _check_keys(entry, LIKE_KEYS, "a question like another")
    other, seed = entry["like"], entry["seed"]
    if other not in known:
        raise TableError(f"like: no question {other!r}{suggest_name(other, known)}")
    made = known[other].with_new_figures(seed)
    return replace(made, points=entry.get("points", made.points))


def _merge_groups(entry, groups):
    """Return the entry with its groups' content added; the entry's own keys take precedence.

    A group's text ``beside`` the question comes before the entry's own.
    """
    merged = {}
    for group in entry.pop("uses", ()):
        if group not in groups:
            raise TableError(f"there is no shared group {group!r}{suggest_name(group, groups)}")
        merged = _merge(merged, groups[group])
    return _merge(merged, entry)


def _merge(entry, other):
    joined = {key: entry.get(key, {}) | other[key] for key in GROUP_TABLES if key in other}
    if "beside" in entry and "beside" in other:
        joined["beside"] = "\n\n".join(each["beside"].strip() for each in (entry, other))
    return entry | other | joined


def _check_keys(entry: Mapping, known: Iterable[str], where: str):
    for key in entry:
        if key not in known:
            raise TableError(f"{where} has no key {key!r}{suggest_name(key, known)}")


# Inputs.


def _make_input(name, given) -> Input:
    given = dict(given)
    kind = next((kind for kind in INPUT_KEYS if kind in given), None)
    if kind is None:
        raise TableError(f"input {name!r} has no kind: give it one of {', '.join(INPUT_KEYS)}")
    _check_keys(given, (kind, *INPUT_KEYS[kind], *COMMON_INPUT_KEYS), f"input {name!r}")
    value, make = given.pop(kind), getattr(kinds_of_input, kind)
    instead, without = given.pop("instead", {}), given.pop("without", ())
    two = given.pop("two", "")
    if kind == "count":
        made = make(_read_value(value), given.pop("what", ""), given.pop("unit", ""), **given)
    elif kind == "itemsize":
        made = make(value, given.pop("of", "a number"))
    else:
        made = make(*() if kind == "fma" else (value,), **given)
    made = replace(made, source_of_two=two or made.source_of_two)
    return _edit_mistaken_values(made, instead, without)


def _edit_mistaken_values(made, instead, without):
    """Return an input with the table's changes to the values that it can be mistaken for."""
    known = {one.name: one for one in made.mistaken_for if one.name not in without}
    if unknown := [name for name in without if not any(o.name == name for o in made.mistaken_for)]:
        raise TableError(f"no mistaken value is named {unknown[0]!r}")
    for name, told in instead.items():
        if isinstance(told, str):
            if name not in known:
                raise TableError(f"no mistaken value is named {name!r}{suggest_name(name, known)}")
            known[name] = replace(known[name], says=told)
        else:
            value, says, *digits = told
            known[name] = Mistaken(name, _read_value(value), says, *digits)
    if made.redraw is None or not (instead or without):
        return replace(made, mistaken_for=tuple(known.values()))
    again = made.redraw
    own = instead if made.chips else {n: t for n, t in instead.items() if isinstance(t, str)}

    def drawn(rng, chips):
        fresh = again(rng, chips)
        known = [each.name for each in fresh.mistaken_for]
        kept = {n: told for n, told in own.items() if not isinstance(told, str) or n in known}
        fresh = _edit_mistaken_values(fresh, kept, [name for name in without if name in known])
        return replace(fresh, source_of_two=made.source_of_two)

    return replace(made, mistaken_for=tuple(known.values()), redraw=drawn)


def _read_value(value):
    return read_expression(value, FIGURES).value({}) if isinstance(value, str) else value


# Steps and slips.


def _make_steps(written, known) -> list[Step]:
    """Make steps, which can use earlier steps and the ``known`` inputs and symbols."""
    made: list[Step] = []
    for name, told in written.items():
        expression, *words = [told] if isinstance(told, str) else told
        _read_known(expression, (*known, *(each.name for each in made)))
        made.append(make_step(name, expression, *words, figures=FIGURES))
    return made


def _make_slips(written, derivation: Derivation, known) -> tuple[list[Slip], dict[str, str]]:
    """Return a question's own slips, and its sentences for generated slips."""
    own, words = [], {}
    for name, told in written.items():
        if isinstance(told, str):
            words[name] = told
            continue
        expression, says, *flags = told
        formula = _make_slip_formula(expression, derivation, known)
        own.append(Slip(name, formula, says, **(dict(*flags))))
    return own, words


def _make_slip_formula(expression, derivation, known):
    """Read a slip: "expression" replaces the answer, "step = expression" a step."""
    name, is_step, other = (part.strip() for part in expression.partition("= "))
    steps = {each.name: number for number, each in enumerate(derivation.steps)}
    if is_step and name in steps:
        before = list(steps)[: steps[name]]
        return derivation.with_step(name, _read_known(other, (*known, *before)))
    return derivation.with_answer(_read_known(expression, (*known, *steps)))


def _read_known(expression, known, figures=FIGURES) -> Node:
    """Read an expression. Raises ExpressionError if a name in it is not known."""
    tree = read_expression(expression, figures)
    for name in find_names(tree):
        if name not in known:
            raise ExpressionError(
                f"in '{expression}' {name!r} is neither an input nor an earlier step"
                f"{suggest_name(name, [*known])}"
            )
    return tree


class _Condition:
    """A condition on inputs, which are passed by name."""

    def __init__(self, tree):
        self._tree, self.names = tree, tuple(dict.fromkeys(find_names(tree)))

    def __call__(self, **values):
        return self._tree.value(values)

    def text(self, values, figures):
        """Return the condition with numbers filled in, and the values of computed sides."""
        if not isinstance(self._tree, Comparison):
            return ""
        said = []
        for sign, side in zip(("", *self._tree.signs), self._tree.operands, strict=True):
            said += [sign, side.text(figures.__getitem__)]
            if side.precedence != ATOM:
                said += ["=", units.format_value(side.value(values), "", 4)]
        return " ".join(filter(None, said))


class _ConditionalSentence(_Condition):
    """A sentence if a condition on the inputs and ``answer`` holds, or "" otherwise."""

    def __init__(self, tree, says):
        super().__init__(tree)
        self._says = says

    def __call__(self, **values):
        return self._says if super().__call__(**values) else ""


# Questions.


def _make_derivation(entry, inputs, steps=(), symbols=()):
    """Return the derivation and slips of a number or formula, and its words for generated slips."""
    unit, wanted = entry.get("unit", ""), entry.pop("step", "")
    if unit not in units.DIMENSIONS:
        raise TableError(f"unknown unit {unit!r}{suggest_name(unit, units.DIMENSIONS)}")
    known = (*inputs, *symbols)
    before = (*known, *(each.name for each in steps))
    every = [*steps, *_make_steps(entry.pop("steps", {}), before)]
    if not every:
        raise TableError("it has no steps")
    derivation = Derivation(every, every[-1].unit)
    if wanted and wanted not in {each.name for each in every}:
        raise TableError(f"no step {wanted!r}{suggest_name(wanted, [each.name for each in every])}")
    derivation = derivation.up_to(wanted or every[-1].name, unit)
    unused = {each.name for each in every} - {each.name for each in derivation.steps}
    if unused and not steps:
        raise TableError(f"the step {sorted(unused)[0]!r} is not used")
    own, words = _make_slips(entry.pop("slips", {}), derivation, known)
    return derivation, own, words


def _make_number(entry, inputs, steps=()):
    derivation, own, words = _make_derivation(entry, inputs, steps)
    if "beyond" in entry:
        expression, says = entry["beyond"]
        entry["beyond"] = _ConditionalSentence(_read_known(expression, (*inputs, "answer")), says)
    for name in entry.get("symbols", {}).values():
        _read_known(name, inputs)
    return kinds.Number(
        **{"asks": ""} | entry, inputs=inputs, formula=derivation, slips=own, words=words
    )


def _make_several(entry, inputs, make=kinds.Several):
    steps, slips = entry.pop("steps", {}), entry.pop("slips", {})
    parts = {}
    for name, part in entry.pop("parts").items():
        _check_keys(part, PART_KEYS, f"part {name!r}")
        part = part | {"slips": slips | part.get("slips", {})}
        of_part = {each: _make_input(each, given) for each, given in part.pop("inputs", {}).items()}
        known = inputs | of_part
        parts[name] = _make_number(part, known, _make_steps(steps, known))
    return make(**entry, parts=parts)


def _make_report(entry, inputs):
    own, rules, slips = {}, entry.pop("rules", {}), entry.pop("slips", {})
    for name, part in entry["parts"].items():
        if "input" not in part:
            part["slips"] = slips | part.get("slips", {})
            continue
        _check_keys(part, OWN_KEYS, f"part {name!r}")
        given = part.pop("input")
        if given not in inputs:
            raise TableError(f"no input {given!r}{suggest_name(given, inputs)}")
        limits = {key: part.pop(key) for key in ("between", "one_of", "whole") if key in part}
        own[name] = OwnFigure(given, **limits)
        unit = inputs[given].unit
        part |= {"unit": unit, "steps": {"own": [given, unit, inputs[given].what]}}
    made = _make_several(entry, inputs, functools.partial(kinds.Report, own=own))
    steps = [step.name for part in made.parts.values() for step in part.formula.steps]
    known = (*inputs, *steps)
    conditions = {name: _Condition(_read_known(rule[0], known)) for name, rule in rules.items()}
    return replace(made, rules=[Rule(n, conditions[n], *rule[1:]) for n, rule in rules.items()])


def _make_formula(entry, inputs):
    symbols = entry.pop("arguments")
    free = (*symbols, *entry.get("cancels", ()))
    derivation, own, words = _make_derivation(entry, inputs, symbols=free)
    name = derivation.steps[-1].name
    return kinds.Formula(
        **entry, inputs=inputs, arguments=tuple(symbols), results={name: derivation},
        slips={name: own}, words=words,
        case=functools.partial(_choose_case, tuple(symbols.values())),
    )  # fmt: skip


def _choose_case(ranges, rng, number):
    """Draw values for symbols: distinct integers, each within its range."""
    drawn: list[int] = []
    for low, high in ranges:
        drawn.append(rng.choice([each for each in range(low, high + 1) if each not in drawn]))
    return tuple(drawn)


# The key of a case's Random among its values. It contains a space, so no expression can use it.
RANDOM = "the Random"
DRAWS = {
    "between": lambda rng, low, high: rng.uniform(low, high),
    "whole": lambda rng, low, high: rng.randint(low, high),
    "one_of": lambda rng, *values: rng.choice(values),
    "three_digits": lambda rng, value: float(f"{value:.3g}"),
    "in_turn": None,
}


class _Draw(Call):
    """A call of one of DRAWS; ``in_turn`` evaluates only the argument whose turn it is."""

    def value(self, values):
        if self.function == "in_turn":
            return self.arguments[values["number"] % len(self.arguments)].value(values)
        found = (each.value(values) for each in self.arguments)
        return DRAWS[self.function](values[RANDOM], *found)


def _make_function(entry, inputs):
    arguments = entry["arguments"]
    draws: dict[str, tuple[str, Node]] = {}
    for name, expression in entry.pop("case").items():
        tree = _read_known(expression, (*draws, "number"), dict.fromkeys(DRAWS, _Draw))
        draws[name] = expression, tree
    if lacking := [name for name in arguments if name not in draws]:
        raise TableError(f"the case does not draw {lacking[0]!r}{suggest_name(lacking[0], draws)}")
    made = kinds.Function(
        **_make_results(entry, inputs), case=functools.partial(_draw_case, draws, arguments)
    )
    # Draw the cases now, so that errors are found when the table is read.
    _ = made.cases
    return made


def _make_results(entry, inputs):
    """Return a function's fields: the table's own, its inputs, and its results with their slips."""
    arguments, shared_slips = entry["arguments"], entry.pop("slips", {})
    steps = _make_steps(entry.pop("steps"), (*inputs, *arguments))
    results, slips, words = {}, {}, {}
    for name, told in entry.pop("results", {steps[-1].name: {}}).items():
        _check_keys(told, RESULT, f"result {name!r}")
        part = {"unit": entry.get("unit", "")} | told
        part["slips"] = shared_slips | told.get("slips", {})
        results[name], slips[name], own_words = _make_derivation(part, inputs, steps, arguments)
        words |= own_words
    return entry | {"inputs": inputs, "results": results, "slips": slips, "words": words}


def _make_forecast(entry, inputs):
    times, model, bound = _read_timings(entry.pop("gpu")), entry.pop("model"), entry.pop("bound")
    entry["credit"] = dict(entry["credit"])
    steps = _make_steps(entry["steps"], (*inputs, *entry["arguments"]))
    seen = set().union(*(found for other, found in times.items() if other != model))
    timings = {shape: time for shape, time in times[model].items() if shape not in seen}
    return kinds.Forecast(
        **_make_results(entry, inputs),
        bound=Derivation(steps, steps[-1].unit).up_to(bound, entry["unit"]),
        timings=timings, case=lambda rng, number: rng.choice([*timings]),
    )  # fmt: skip


@functools.cache
def _read_timings(gpu):
    """Return the published median times of matmuls on a GPU, in µs by model and shape (B, D, F)."""
    runs, times = published.matmuls(), {}
    columns = ["model", "B", "D", "F", "microseconds"]
    for model, *shape, time in runs[runs["gpu"] == gpu][columns].tolist():
        times.setdefault(model, {}).setdefault(tuple(shape), []).append(time)
    return {
        model: {shape: statistics.median(each) for shape, each in found.items()}
        for model, found in times.items()
    }


def _draw_case(draws, arguments, rng, number):
    """Draw the arguments of a case; each is an expression of earlier ones."""
    values = {"number": number, RANDOM: rng}
    for name, (expression, tree) in draws.items():
        try:
            values[name] = tree.value(values)
        except (ArithmeticError, TypeError, ValueError) as error:
            raise TableError(f"'{expression}' cannot draw a case: {error}") from None
    return tuple(values[name] for name in arguments)


@dataclass(frozen=True)
class _Item:
    """An item of an order: its own inputs, the steps to its sort key, and their slips."""

    name: str
    said: Mapping[str, str]
    inputs: Mapping[str, Input]
    steps: Derivation
    slips: Sequence[Slip]

    def value(self, inputs, slip=None):
        """Return the item's sort key, or that of a slip; ``inputs`` are shared by all items."""
        derivation = self.steps if slip is None else self.slips[slip].formula
        return derivation.values(self._values(inputs))[derivation.steps[-1].name]

    def fill(self, shows, inputs):
        """Fill in a template with the item's texts, values and steps."""
        shown = format_figures(inputs | self.inputs)
        lines = self.steps.lines(self._values(inputs), shown)
        steps = {step.name: line.value for step, line in zip(self.steps.steps, lines, strict=True)}
        return shows.format_map(shown | steps | self.said)

    def with_new_figures(self, rng, chips):
        """Return the item with other chips. The item itself may be a chip."""
        name = chips.get(self.name, self.name)
        return replace(self, name=name, inputs=redraw_inputs(self.inputs, rng, chips))

    def _values(self, inputs):
        found = {name: given.value for name, given in (inputs | self.inputs).items()}
        return found | {"item": self.name}


def _make_order(entry, inputs):
    told = entry.pop("items")
    told = told if isinstance(told, Mapping) else dict.fromkeys(told, "")
    told = {name: {"text": of} if isinstance(of, str) else of for name, of in told.items()}
    for name, of in told.items():
        entry["asks"] = entry["asks"].replace(f"{{{name}}}", of.get("text", ""))
    needs = entry.pop("needs", {})
    for pair in needs:
        if len(pair.split(", ")) != 2 or not {*pair.split(", ")} <= {*told}:
            raise TableError(f"'{pair}' does not name two of {', '.join(told)}")
    entry["needs"] = {tuple(pair.split(", ")): says for pair, says in needs.items()}
    shows = entry.pop("shows", "")
    each, steps, slips = (entry.pop(key, {}) for key in ("each", "steps", "slips"))
    if "right" in entry:
        if each or steps or slips:
            raise TableError("give 'right' or steps, not both")
        right = entry.pop("right")
        if sorted(right) != sorted(told):
            raise TableError(f"'right' must contain each of {', '.join(told)} once")
        shown = {name: shows.format_map(of) for name, of in told.items()}
        by = {"inputs": inputs, "items": [*told], "key": right.index, "shows": shown.get}
        return kinds.Order(**entry | by)
    items = [_make_order_item(name, of, each, inputs, steps, slips) for name, of in told.items()]
    return kinds.Order(**entry, **_ordered_by_steps(items, inputs, shows))


def _make_order_item(name, of, each, inputs, steps, slips):
    """Make an item from its own values, the inputs of ``each``, and the shared steps and slips."""
    own = {
        label: _make_input(label, {key: name if v == "{item}" else v for key, v in given.items()})
        for label, given in each.items()
    }
    said = {key: told for key, told in of.items() if key in SAID}
    rest = ((key, told) for key, told in of.items() if key not in SAID)
    figures = {key: told if isinstance(told, str | list) else f"{told}" for key, told in rest}
    known = (*inputs, *own, "item")
    made = _make_steps(figures | steps, known)
    if not made:
        raise TableError("it has neither steps nor a 'right' order")
    derivation = Derivation(made, made[-1].unit)
    wrong, words = _make_slips(slips, derivation, known)
    if words:
        raise TableError(f"the slip '{next(iter(words))}' has no expression to order items by")
    return _Item(name, said, own, derivation, wrong)


def _ordered_by_steps(items, inputs, shows):
    """Return the fields of an Order whose items are sorted by their last step."""
    named = {item.name: item for item in items}
    every = [*inputs.values(), *(given for item in items for given in item.inputs.values())]

    def again(rng):
        chips = choose_other_chips(every, rng)
        fresh = redraw_inputs(inputs, rng, chips)
        drawn = [item.with_new_figures(rng, chips) for item in items]
        return _ordered_by_steps(drawn, fresh, shows)

    def key(name, slip=None):
        return named[name].value(inputs, slip)

    return {
        "inputs": inputs,
        "items": [*named],
        "key": key,
        "shows": {item.name: item.fill(shows, inputs) for item in items}.get,
        "wrong": {
            slip.name: (functools.partial(key, slip=number), slip.says)
            for number, slip in enumerate(items[0].slips)
        },
        "redraw": again if any(given.redraw for given in every) else None,
        # Items with their own inputs are chips, and a chip can have several names.
        "read": (lambda name: rk.chip(name).name) if items[0].inputs else str,
    }


def _make_puzzle(entry, inputs):
    name = entry.pop("case")
    if name not in CASES:
        raise TableError(f"there's no case {name!r}{suggest_name(name, CASES)}")
    draw_case, sizes = CASES[name]
    steps = _make_steps(entry.pop("steps"), sizes(draw_case(random.Random(0), 0)))
    conditions = {
        key: [
            Slip(name, _Condition(read_expression(expression)), says)
            for name, (expression, says) in entry.pop(key, {}).items()
        ]
        for key in ("slips", "faults")
    }
    every = Derivation(steps, steps[-1].unit)
    if "par" in {step.name for step in steps}:
        entry["par"] = every.up_to("par", every.unit)
    least = every.up_to("least", every.unit)
    entry |= conditions | {"case": draw_case, "sizes": sizes, "credit": dict(entry["credit"])}
    return kinds.Puzzle(**entry, inputs=inputs, least=least)


def _make_choice(entry, inputs):
    right = entry.pop("right")
    if isinstance(right, str):
        return kinds.Choice(**entry, inputs=inputs, formula=lambda: right)
    conditions = {option: _Condition(_read_known(text, inputs)) for option, text in right.items()}
    return kinds.Choice(**entry, inputs=inputs, formula=_FirstTrue(conditions))


class _FirstTrue:
    """A function that returns the first option whose condition on the inputs holds."""

    def __init__(self, conditions):
        self.conditions = conditions
        used = (name for each in conditions.values() for name in each.names)
        self.names = tuple(dict.fromkeys(used))

    def __call__(self, **values):
        return next(option for option, holds in self.conditions.items() if holds(**values))


MAKERS = {
    "number": _make_number, "several": _make_several, "formula": _make_formula,
    "choice": _make_choice, "function": _make_function, "order": _make_order,
    "puzzle": _make_puzzle, "report": _make_report, "forecast": _make_forecast,
}  # fmt: skip


# Other languages.


def _translate(table, words):
    """Return a table with its sentences replaced by their translations."""
    merged = dict(table)
    for key, told in words.items():
        own = merged.get(key)
        if isinstance(told, Mapping):
            merged[key] = _translate(own or {}, told)
        elif isinstance(own, list) and isinstance(told, str):
            # The text of a step, slip or mistake comes after its expression.
            last = max(n for n, each in enumerate(own) if isinstance(each, str))
            merged[key] = [told if n == last else each for n, each in enumerate(own)]
        else:
            merged[key] = told
    return merged
