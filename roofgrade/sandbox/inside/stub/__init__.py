"""Replaces roofcheck while a notebook is graded.

Another process judges the answers, so this one has no questions or judging code to read or replace.
"""

import html

from roofgrade.sandbox.inside.sentences import sentence


def request(message):
    """Ask the grader. A running notebook replaces this function."""
    raise RuntimeError(sentence("judged"))


class Grade(float):
    """A grade without points, which says that the points come later."""

    def __str__(self):
        return sentence("judged")

    def _repr_html_(self):
        return f"<i>{html.escape(sentence('judged'))}</i>"


class TextLine:
    def __init__(self, text=None):
        self._text = sentence("judged") if text is None else text

    def __repr__(self):
        return self._text

    def _repr_html_(self):
        return f"<blockquote>{html.escape(self._text)}</blockquote>"


class Variant(TextLine):
    """A student's variant: its text, its HTML in a notebook, and its figures as attributes."""

    def __init__(self, text, figures, shown):
        super().__init__(text)
        self._figures, self._shown = figures, shown

    def _repr_html_(self):
        return self._shown or super()._repr_html_()

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._figures:
            known = ", ".join(self._figures)
            raise AttributeError(sentence("no_figure", name=name, known=known))
        return self._figures[name]

    def __dir__(self):
        return [*self._figures]


def check(question_id, answer=..., me=...):
    return Grade()


def predict(question_id, guess=...):
    return Grade()


def reveal(question_id, value):
    return TextLine()


def hand_in(name, unfinished=False, path=None):
    """Do nothing: the notebook has been handed in already."""


def review(*arguments, **settings):
    return TextLine()


board = hint = practise = progress = review


def grades():
    return {}


def find_question(question_id):
    raise ValueError(sentence("judged"))


def ask(question_id, me=...):
    """Return the variant of ``me``, which the grader makes."""
    variant = request({"question": str(question_id), "me": None if me in (None, ...) else str(me)})
    return Variant(variant["text"], variant["figures"], variant["shown"])
