r"""A question's answer and most common mistake, as shown on a slide.

>>> from roofcheck import find_question
>>> send = deck_answer(find_question("l01.h100-send"))
>>> send.answer, send.slip, send.says[:40]
('4.44 ms', '597 µs', "That uses the memory's bandwidth. These ")
>>> deck_answer(find_question("l03.own-length")).slip
'$\\dfrac{N}{2 N + 1}$'
"""

from dataclasses import dataclass

from roofcheck.kinds import Choice, Formula, Function, Number, Order, Puzzle, Several
from roofcheck.reading.units import format_value
from roofcheck.steps.computation import apply_formula


@dataclass(frozen=True)
class DeckAnswer:
    """An answer with a remark, and a common slip with the check's message about it.

    Strings are empty if a question has no remark or no slip.
    """

    answer: str
    remark: str = ""
    slip: str = ""
    says: str = ""


def deck_answer(question):
    """Return a DeckAnswer with the answer and a common slip of a question of any kind.

    The slip is the question's ``usual`` one, else the first in its table, else the first that two
    digits tell apart. A formula is LaTeX between $ signs.
    """
    match question:
        case Number():
            singles = question.known_slips.singles
            named = [slip for slip in singles if question.usual in slip.names]
            steps = named or question.known_slips.steps or question.known_slips.single_changes
            usual = _find_usual_slip(steps)
            wrong = format_value(usual.column[0], question.unit) if usual else ""
            slip = (wrong, question.judge(wrong).message) if usual else ()
            answer = format_value(question.reference(), question.unit)
            return DeckAnswer(answer, question.praise, *slip)
        case Several():
            parts = {name: deck_answer(part) for name, part in question.parts.items()}
            slips = ((f"{name}: {p.slip}", p.says) for name, p in parts.items() if p.says)
            values = "; ".join(f"{name}: {part.answer}" for name, part in parts.items())
            return DeckAnswer(values, question.praise, *next(slips, ()))
        case Choice():
            right = question.reference()
            other = next(option for option in question.why_not if option != right)
            return DeckAnswer(right, question.praise, other, question.why_not[other])
        case Order():
            return DeckAnswer(", ".join(question.reference()), question.praise)
        case Formula():
            own = [slip for slips in question.slips.values() for slip in slips if slip.credit < 1]
            slip = (_format_latex(question, own[0].formula), own[0].says) if own else ()
            right = [_format_latex(question, formula) for formula in question.results.values()]
            return DeckAnswer(", ".join(right), question.praise, *slip)
        case Function() | Puzzle():
            return DeckAnswer(question.how, question.praise)
    raise ValueError(f"{type(question).__name__} has no answer for a slide")


def _find_usual_slip(steps):
    # The name of an input's slip starts with the input's name: "fma: multiply-add".
    own = [step for step in steps if ": " not in step.names[0]]
    return min(own[:1] or steps, key=lambda step: step.min_digits > 2, default=None)


def _format_latex(question, formula):
    import sympy  # slow to import

    symbols = {name: sympy.Symbol(name, positive=True) for name in question.arguments}
    values = {name: value.value for name, value in question.inputs.items()}
    expression = sympy.nsimplify(apply_formula(formula, symbols | values))
    return f"${sympy.latex(sympy.together(expression))}$".replace(r"\frac", r"\dfrac")
