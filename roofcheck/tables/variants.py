"""Variants of a question: each student gets one, and the check recognises a neighbour's answer."""

import functools
import hashlib
import html
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from string import Formatter

import numpy as np

from roofcheck.course import find_term
from roofcheck.kinds import Number, Several
from roofcheck.reading.agreement import agrees, agrees_exactly, is_precise
from roofcheck.reading.labels import order_by_labels
from roofcheck.reading.numbers import UnreadableError, is_missing, list_items, read_number
from roofcheck.sentences import join_items, sentence
from roofcheck.showing import question_page
from roofcheck.steps.inputs import GIVEN_BY_QUESTION
from roofcheck.tables.catalogue import find_question
from roofkit._html import start_with_blank_line

# Enough variants that two students rarely share one, but few enough that a wrong answer rarely
# matches another variant by chance.
FEWEST, MOST = 8, 20
# The default of ``me``: the question's original values.
AS_WRITTEN = "the figures as written"
ANOTHER_VARIANT = "another variant"  # the slip of answers for another student's figures
# Answers to variants differ by more than this, which exceeds every question's tolerance.
APART_RTOL = 0.03


class Variant:
    """A student's variant, which shows the question and has its values as attributes.

    ``chip`` is the question's chip, or ``chips`` are its chips. A notebook also shows the context.
    Raises AttributeError for a value that the question does not state.
    """

    def __init__(self, text, figures, shown=""):
        self._text, self._figures, self._shown = text, figures, shown

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._figures:
            known = join_items(self._figures, "comma")
            key = "variant.no-figure" if known else "variant.nobody"
            raise AttributeError(sentence(key, name=repr(name), known=known))
        return self._figures[name]

    def __dir__(self):
        return [*self._figures]

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        shown = self._shown or html.escape(self._text)
        return start_with_blank_line(f"<blockquote>{shown}</blockquote>")


def ask(question_id, me=...):
    """Return the variant of a question for the student with the id ``me``; it never changes.

    >>> given = ask("ps1.time", "ada")
    >>> given
    A layer takes 10¹¹ bf16 FLOPs and moves 2.4 · 10⁹ bytes on the GB200. With full overlap, \
how many microseconds does it take?
    >>> given.chip, given.moved
    ('GB200', 2400000000)
    """
    if is_id_missing(me):
        return Variant(sentence("variant.nobody"), {})
    question = find_variant(question_id, me)
    inputs = question.all_inputs()
    # Inputs that the text doesn't state are part of the answer, such as the links of a corner.
    printed = {name for _, name, *_ in Formatter().parse(question.asks)}
    figures = {
        name: int(given.value) if given.value % 1 == 0 else given.value
        for name, given in inputs.items()
        if given.source == GIVEN_BY_QUESTION
        and (name in printed or f"{{{name}}}" in question.beside)
    }
    every = [given for part in _list_parts(question) for given in part.inputs.values()]
    chips = list(dict.fromkeys(given.chips[0] for given in every if given.chips))
    about = {"chip": chips[0]} if len(chips) == 1 else {"chips": chips} if chips else {}
    return Variant(question.text(), figures | about, question_page.as_html(question, question_id))


@functools.cache
def list_variants(question_id):
    """Return draws of a question that have different answers.

    Raises ValueError if the question doesn't ask for numbers, or has too few variants.
    """
    drawn = {}
    # The limit is for questions that have few different draws.
    for seed in range(2 * MOST):
        question = find_question(question_id).with_new_figures(f"{question_id}, variant {seed}")
        if not isinstance(question, (Number, Several)):
            break
        right = tuple(part.reference() for part in _list_parts(question))
        if not any(np.allclose(right, other, rtol=APART_RTOL) for other in drawn):
            drawn[right] = question
        if len(drawn) == MOST:
            break
    if len(drawn) < FEWEST:
        raise ValueError(f"{question_id} has {len(drawn)} variants; {FEWEST} are needed")
    return tuple(drawn.values())


def has_variants(question_id):
    """Return whether a question has enough variants for a class."""
    try:
        return bool(list_variants(question_id))
    except ValueError:
        return False


def describe_missing_id(question_id, me):
    """Return a sentence if a question asks for the student's id and has none, or ""."""
    if is_id_missing(me):
        return sentence("variant.nobody")
    set_id, _, name = question_id.partition(".")
    is_own = me is AS_WRITTEN and (name == "mine" or set_id in find_term().own_figures)
    known = not is_own or not has_variants(question_id)
    return "" if known else sentence("variant.no-me", question=question_id)


def is_id_missing(me):
    """Return whether ``me`` has not been filled in."""
    return is_missing(me) or not str(me).strip(" .")


def find_variant(question_id, me):
    """Return the variant for the student ``me``, ignoring case and spaces."""
    found = list_variants(question_id)
    return found[int.from_bytes(hashlib.sha256(normalise_id(me).encode()).digest()) % len(found)]


def normalise_id(me):
    """Return an id in normal form, ignoring case, spaces and accent encoding."""
    return " ".join(unicodedata.normalize("NFKC", str(me)).casefold().split())


def judge_variant(question_id, own, answer):
    """Judge an answer to one of a question's variants."""
    if isinstance(answer, Iterator):
        # An iterator can be read only once, but the answer is compared with several variants.
        answer = list_items(answer, len(_list_parts(own)) + 1)
    verdict = own.judge(answer)
    others = [other for other in list_variants(question_id) if other is not own]
    # Parts with the same answer in all variants make a neighbour's answer partly right.
    is_wrong = verdict.state in ("wrong", "partly")
    if not is_wrong or not any(_is_answer_to(other, answer) for other in others):
        return verdict
    # A wrong step is more likely than a neighbour's number, but a mere factor is not, nor are wrong
    # steps in several parts.
    parts = _list_parts(own)
    steps = {
        slip.names[0]
        for part in (parts if len(parts) - len(verdict.right) == 1 else ())
        for slip in [*part.known_slips.steps, *part.known_slips.single_changes]
    }
    if any(slip.split(": ", 1)[-1] in steps or slip in steps for slip in verdict.slips):
        return verdict
    message = sentence("variant.another")
    if verdict.slips or verdict.credit:
        message = sentence("slip.or-also", message=verdict.message, other=message)
    return replace(verdict, message=message, slips=(*verdict.slips, ANOTHER_VARIANT))


def _list_parts(question):
    return getattr(question, "parts", {"": question}).values()


def _is_answer_to(question, answer):
    """Return whether an answer matches this variant to more digits than a guess would have."""
    parts = _list_parts(question)
    try:
        values = order_by_labels(answer, list(question.parts)) if len(parts) > 1 else [answer]
        given = [
            read_number(value, part.unit, part.figure)
            for part, value in zip(parts, values, strict=True)
        ]
    except UnreadableError:
        return False
    right = [part.reference() for part in parts]
    return agrees_exactly(given, right) or (all(map(is_precise, given)) and agrees(given, right))
