"""Slips that are so numerous that a rounded answer would match one by chance.

They use another chip's spec or a product instead of a quotient, omit parentheses, or give an input
as the answer. They are reported only for an answer that matches exactly.
"""

from collections.abc import Iterator, Sequence

from roofcheck.reading import units
from roofcheck.reading.agreement import are_equal
from roofcheck.sentences import Sentence, describe_direction, join_items
from roofcheck.slips.scales import POWERS
from roofcheck.steps.computation import Computation, SlipValue
from roofcheck.steps.course_chips import course_chips
from roofcheck.steps.inputs import ANOTHER_CHIP

# All numbers of a question are taken from the row of another chip.
ANOTHER_ROW = f"{ANOTHER_CHIP}'s row"


def list_input_slips(computation: Computation) -> list[SlipValue]:
    """Return the slips that give one of the inputs as the answer."""
    slips = []
    for name, figure in computation.figure_inputs():
        says = Sentence("slip.input", what=figure.what)
        for scale in (1, 1e-9, 1e-12) if figure.unit.endswith("/s") else (1,):
            column = computation.repeat_in_cases(scale * figure.value)
            slips.append(SlipValue((f"{name} itself",), column, says))
    return [slip for slip in slips if computation.is_distinct(slip.column)]


def list_rare_slips(computation: Computation, steps: Sequence[SlipValue]) -> list[SlipValue]:
    """Return all other rare slips; any of the usual ``steps`` may also be inverted."""
    slips = [
        *_inverted_rate_slips(computation),
        *_other_chip_slips(computation),
        *_parentheses_slips(computation),
        *_inverted_slips(computation, steps),
    ]
    return [slip for slip in slips if computation.is_distinct(slip.column)]


def _inverted_rate_slips(computation) -> Iterator[SlipValue]:
    """Yield slips with inverted rates."""
    for name, figure in computation.figure_inputs():
        if figure.unit.endswith("/s"):
            says = Sentence("slip.across", what=figure.what)
            column = computation.compute({name: 1 / figure.value})
            yield SlipValue((f"{name}: multiplied",), column, says)


def _other_chip_slips(computation) -> Iterator[SlipValue]:
    of_chip = {name: figure for name, figure in computation.figure_inputs() if figure.chips}
    chips = {chip: chip for figure in of_chip.values() for chip in figure.chips}
    for main in dict.fromkeys(figure.chips[0] for figure in of_chip.values()):
        names = [name for name, figure in of_chip.items() if figure.chips[0] == main]
        owners: dict[tuple, dict[str, None]] = {}
        rows: dict[tuple, dict[str, None]] = {}
        for other in (chip for chip in course_chips() if chip.name != main):
            fitting = [name for name in names if of_chip[name].fits_chip(other)]
            drawn = chips | {main: other.name}
            replaced = {name: of_chip[name].redraw(None, drawn).value for name in fitting}
            if len(fitting) == len(names):
                rows.setdefault(computation.compute(replaced), {})[other.name] = None
            for name, value in replaced.items() if len(names) > 1 else ():
                owners.setdefault(computation.compute({name: value}), {})[other.name] = None
        for slip, columns in ((ANOTHER_ROW, rows), (f"{ANOTHER_CHIP} of the table", owners)):
            for column, others in columns.items():
                says = Sentence("slip.other-chip", other=join_items(others, "or"), chip=main)
                yield SlipValue((slip,), column, says)


def _parentheses_slips(computation) -> Iterator[SlipValue]:
    """Yield powers of ten on the wrong side, as in a / b * 10**12 for a / (b * 10**12)."""
    for power in range(16, 31):
        for sign in (power, -power):
            words = {"power": power, "way": describe_direction(10.0**sign), "half": power // 2}
            says = Sentence("slip.parentheses" if power % 2 == 0 else "slip.prefix", **words)
            column = tuple(10.0**sign * value for value in computation.right)
            yield SlipValue((f"factor 10^{sign}",), column, says)


def _inverted_slips(computation, steps) -> Iterator[SlipValue]:
    if units.DIMENSIONS[computation.unit] in ("intensity", "ratio"):
        for power in POWERS if all(computation.right) else ():
            column = tuple(10.0**power / value for value in computation.right)
            says = Sentence("slip.inverted-prefixes")
            yield SlipValue((f"upside down: 10^{power}",), column, says)
        for step in steps:
            # Inverting 1 changes nothing.
            turned = tuple(1 / value for value in step.column) if all(step.column) else step.column
            if not are_equal(turned, step.column):
                second = Sentence("slip.beside-inverted")
                says = Sentence("slip.besides", first=step.says, second=second)
                yield SlipValue((*step.names, "upside down"), turned, says)
