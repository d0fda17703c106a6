"""Multiple-choice questions."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from roofcheck.kinds.question import Question, Verdict, format_figures, missing_verdict
from roofcheck.reading.expressions import LONGEST_TEXT
from roofcheck.reading.numbers import is_missing
from roofcheck.reading.vocabulary import VOCABULARY
from roofcheck.sentences import join_items, sentence
from roofcheck.steps.computation import apply_formula
from roofkit.roofline import Estimate

# If a text contains one of these words, it may name an option without choosing it.
DENIAL = re.compile(
    r"\b(not|no|non|never|neither|nor|or|but|than|hardly|instead|unless|maybe|perhaps)\b|n['’]t\b"
)
# The answer follows a conclusion word, and its reason follows a reason word.
CONCLUSION = re.compile(r"\b(?:so|therefore|hence|thus)\b")
REASON = re.compile(r"\b(?:because|since|as|for)\b")
SYNONYMS = VOCABULARY["synonyms"]


@dataclass(frozen=True, kw_only=True)
class Choice(Question):
    """A multiple-choice question, whose right option is the result of ``formula``.

    ``why_not`` explains each wrong option. ``also`` maps options to wordings not in ``SYNONYMS``.
    """

    formula: Callable
    why_not: Mapping[str, str]
    also: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def reference(self) -> str:
        """Return the right option."""
        values = {name: figure.value for name, figure in self.inputs.items()}
        return apply_formula(self.formula, values)

    def formulas(self):
        return [self.formula]

    @property
    def options(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.why_not, self.reference()]))

    def format_comparison(self) -> str:
        """Return the deciding condition, such as "250 ≥ 989.5 TFLOP/s / 4.8 TB/s", or ""."""
        condition = getattr(self.formula, "conditions", {}).get(self.reference())
        values = {name: figure.value for name, figure in self.inputs.items()}
        return condition.text(values, format_figures(self.inputs)) if condition else ""

    def problems(self):
        # If there are inputs, every option is right in some draw.
        if not self.inputs and self.reference() in self.why_not:
            return [f"the right option {self.reference()!r} has a why_not"]
        return []

    def judge(self, answer):
        if is_missing(answer):
            return missing_verdict(answer)
        if isinstance(answer, Estimate):
            answer = answer.bound
        if isinstance(answer, (list, tuple, set)):
            answer = ", ".join(map(str, answer))
        options = join_items(sorted(self.options), "comma")
        text = answer.casefold()[:LONGEST_TEXT] if isinstance(answer, str) else ""
        chosen = self._named_options(text)
        if len(chosen) == 1:
            [option] = chosen
            if option == self.reference():
                return Verdict(1, self.praise)
            return Verdict(0, self.why_not[option], slips=(option,))
        if chosen:
            several = join_items(sorted(chosen))
            return Verdict(0, sentence("choice.several", found=several, options=options), "asked")
        message = sentence("choice.unlisted", answer=repr(answer)[:80], options=options)
        plain = {_normalise_wording(option): option for option in self.options}
        near = difflib.get_close_matches(_normalise_wording(text), plain, n=1)
        nearest = sentence("choice.nearest", option=plain[near[0]]) if near else ""
        return Verdict(0, message, "asked").with_sentence(nearest)

    def _named_options(self, text):
        """Return the options that a text equals or, failing that, names without denying them."""
        wordings = {
            option: {
                _normalise_wording(wording)
                for wording in (option, *SYNONYMS.get(option, ()), *self.also.get(option, ()))
            }
            for option in self.options
        }

        def matches(wording, text):
            return re.search(rf"(?<!\w){re.escape(wording)}(?!\w)", text)

        def whole(part):
            text = _normalise_wording(part)
            return {option for option, words in wordings.items() if text in words}

        def within(part):
            text = _normalise_wording(part)
            return {o for o, words in wordings.items() if any(matches(w, text) for w in words)}

        if exact := whole(text):
            return exact
        # In "A, so B" the answer is B, and "because" starts a reason.
        text = REASON.split(CONCLUSION.split(text)[-1])[0]
        head, *rest = re.split(r"[,;:]", text)
        if DENIAL.search(text):
            return set()
        return (whole(head) or within(head)).union(*map(within, rest))


def _normalise_wording(text):
    text = " ".join(re.sub(r"[-_\"'`.!?()\[\]]", " ", text.casefold()).split())
    text = re.sub(r"^(the|a|an|it is|it's|its|by|by the) ", "", text)
    return text.removesuffix(" bound")
