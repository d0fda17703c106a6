"""A graded notebook as ready HTML, with nothing left in it that could harm a page which shows it.

The notebook is made anew: of each cell its text, of its outputs what a page can show, of its
metadata what a page needs. Formgrader's pages and the feedback are both made of it, and only put
its pieces in their places. All that reads what a student wrote happens in a process of its own,
within bounds; what exceeds them is shown as plain text instead.
"""

import base64
import contextlib
import html
import math
import re

from nbconvert.filters import strip_ansi
from nbconvert.preprocessors import Preprocessor
from nbformat import from_dict
from nbgrader.preprocessors import ClearMarkScheme
from traitlets import Bool, Float, Integer

from roofgrade.common.limits import LimitExceededError, call_in_fork
from roofgrade.common.sentences import replace_surrogates, sentence
from roofgrade.pages.safe_markup import (
    clean_html,
    clean_markdown,
    highlight_code,
    quote_text,
    warm_up_parsers,
)
from roofgrade.pages.svg_drawings import is_simple_drawing

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
HEADING = re.compile(r"^#{1,4} +(.+?)(?: *\([^()]*points?\b[^()]*\))?$", re.MULTILINE)
SCHEME_BEGIN = "BEGIN MARK SCHEME"
FLAGS = ("grade", "solution", "locked", "task")
NUMBERS = ("points", "score", "unread_points")
SVG, IMAGE_KINDS = "image/svg+xml", ("image/png", "image/jpeg")
TEXT_KINDS = ("text/plain", "text/markdown", "text/latex", "text/html")
SHOWN_KINDS = (*TEXT_KINDS, SVG, *IMAGE_KINDS)
NEEDS_SCRIPT = ("application/javascript", "application/vnd.jupyter.widget-view+json")
# The most characters of an error, counted from its end, and of what is said of a whole notebook.
LONGEST_ERROR, LONGEST_REASON = 20_000, 2_000
# What a piece of a page costs beside its characters, and each tag in it: who reads the page makes
# an object of every one.
PIECE_COST, TAG_COST = 300, 20
# A sign takes at most as many in HTML.
WIDEST_SIGN = 6


class Cleaning(Preprocessor):
    """Rebuild a notebook as HTML: the source of each cell, and each output as ``text/html``."""

    cell_bytes = Integer(200_000, help="The most of a cell's outputs that a page shows.").tag(
        config=True
    )
    page_bytes = Integer(2_000_000, help="The most of all that a page shows.").tag(config=True)
    markup_bytes = Integer(
        200_000, help="The most of all HTML, Markdown and code that is parsed for a page."
    ).tag(config=True)
    seconds = Float(5.0, help="The most time that rendering a notebook takes.").tag(config=True)
    schemes = Bool(True, help="Whether rubrics and model answers are shown.").tag(config=True)

    def preprocess(self, nb, resources):
        """The same cells in a new notebook; ``metadata.roofgrade`` has what is said of all.

        That is ``reason`` and ``flagged``, as the grader gave them, and ``plain``: whether what the
        student wrote was too much to render. Without any cell it is never too much.
        """
        warm_up_parsers()
        for plainly, cells in ((False, nb.cells), (True, nb.cells), (True, [])):
            with contextlib.suppress(LimitExceededError):
                made = call_in_fork(
                    _PageBuilder(self, plainly).build, nb, cells, seconds=self.seconds
                )
                return from_dict(made), resources
        raise LimitExceededError


def pass_through(source, **_):
    """What ``Cleaning`` made, for the filters of nbconvert's templates: there is nothing to do."""
    return source


class _PageBuilder:
    """One page being made: how much room is left on it."""

    def __init__(self, settings, plainly):
        self._settings, self._is_plain = settings, plainly
        self._room_left, self._characters_read = settings.page_bytes, 0

    def build(self, nb, cells):
        """The new notebook as plain data, with these of its cells."""
        if not self._settings.schemes:
            _clear_schemes(cells)
        made = [_make_frame(cell, place) for place, cell in enumerate(cells)]
        pairs = [*zip(cells, made, strict=True)]
        # What the course and who marks say goes first: nothing of a student's may crowd it out.
        self._renders = True
        for cell, new in pairs:
            if _is_locked(cell):
                new["source"] = self._render_source(cell)
            if _is_check(cell):
                new["outputs"] = self._render_outputs(cell)
        self._renders = not self._is_plain
        for new in made:
            if comment := new["metadata"].get("nbgrader", {}).get("comment"):
                new["metadata"]["nbgrader"]["comment"] = self._render_or_quote(
                    clean_markdown, comment
                )
            if model := new["metadata"].get("nbgrader", {}).get("model"):
                new["metadata"]["nbgrader"]["model"] = self._render_or_quote(clean_markdown, model)
        for cell, new in pairs:
            if not _is_locked(cell):
                new["source"] = self._render_source(cell)
        for cell, new in pairs:
            if cell.cell_type == "code" and not _is_check(cell):
                new["outputs"] = self._render_outputs(cell)
        language = {"name": "python", "pygments_lexer": "python3"}
        said = _clean_remarks(nb.metadata.get("roofgrade")) | {"plain": self._is_plain}
        metadata = {"language_info": language, "roofgrade": said}
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}

    def _render_source(self, cell):
        source = _to_text(cell.get("source", ""))
        if cell.cell_type == "code":
            return self._render_or_quote(highlight_code, source)
        if cell.cell_type != "markdown":
            return self._quote_text(source)
        attachments = _choose_attachments(cell.get("attachments", {}), self._room_left)
        return self._render_or_quote(clean_markdown, source, attachments)

    def _render_outputs(self, cell):
        """The outputs that fit on the page, and a line about those that do not."""
        self._begin_piece(self._settings.cell_bytes)
        found = [self._render_output(output) for output in cell.get("outputs", [])]
        if self._missing:
            found.append(quote_text(sentence("pages.cut", count=self._missing)))
        return [
            {"output_type": "display_data", "data": {"text/html": each}, "metadata": {}}
            for each in found
            if each
        ]

    def _render_output(self, output):
        kind = output.get("output_type")
        if kind == "stream":
            return self._fit_text(_strip_colours(output.get("text", "")))
        if kind == "error":
            lines = "\n".join(map(str, output.get("traceback", [])))
            lines = lines or f"{output.get('ename', '')}: {output.get('evalue', '')}"
            return self._fit_text(_strip_colours(lines[-LONGEST_ERROR:]), "error")
        return self._render_data(output.get("data", {}), output)

    def _render_data(self, found, output):
        """The best of the forms that a page can show."""
        data = {
            kind: _to_text(found[kind]) for kind in SHOWN_KINDS if isinstance(found.get(kind), str)
        }
        for kind in ("text/html", "text/markdown", "text/latex"):
            if self._renders and kind in data:
                render = clean_html if kind == "text/html" else clean_markdown
                made = self._try_render(render, data[kind])
                made = self._fit_text(data[kind]) if made is None else made
                # HTML that only a script fills has nothing to show.
                if re.sub(r"<(?!img)[^>]*>|\s", "", made):
                    return made
        if SVG in data and is_simple_drawing(data[SVG]):
            svg = base64.b64encode(data[SVG].encode()).decode()
            return self._render_picture(SVG, svg, output)
        for kind in IMAGE_KINDS:
            if kind in data and BASE64.fullmatch(data[kind]):
                return self._render_picture(kind, data[kind], output)
        text = next((data[kind] for kind in TEXT_KINDS if kind in data), "")
        if SVG in data:
            text = f"{text}\n{sentence('pages.drawing')}".strip()
        elif not text or any(kind in found for kind in NEEDS_SCRIPT):
            text = f"{text}\n{sentence('pages.silent')}".strip()
        return self._fit_text(text)

    def _render_picture(self, kind, data, output):
        known = output.get("metadata", {}).get(kind, {})
        alt = known.get("alt") if isinstance(known, dict) else None
        alt = _to_text(alt)[:1_000] if isinstance(alt, str) else sentence("feedback.figure")
        made = f'<img alt="{html.escape(alt)}" src="data:{kind};base64,{data}">'
        if self._take_room(made):
            return made
        self._missing += len(data)
        return ""

    def _render_or_quote(self, render, source, *more):
        """A text rendered, or as it stands where that is too much."""
        self._begin_piece(self._room_left)
        made = self._try_render(render, source, *more)
        return self._quote_text(source) if made is None else made

    def _try_render(self, render, source, *more):
        """The HTML of a text, or None where there is too much to parse or to show."""
        self._characters_read += len(source)
        if not self._renders or self._characters_read > self._settings.markup_bytes:
            return None
        made = render(source, *more)
        return made if self._take_room(made) else None

    def _quote_text(self, source):
        self._begin_piece(self._room_left)
        made = self._fit_text(source)
        if self._missing:
            shown = {"most": len(source) - self._missing, "count": len(source)}
            made += quote_text(sentence("pages.cut_text", **shown))
        return made

    def _fit_text(self, text, kind=""):
        """As much of a text as there is room for."""
        room = max(0, self._room_left - self._floor - 2 * PIECE_COST)
        shown = text[:room]
        if len(html.escape(shown)) > room:
            shown = shown[: room // WIDEST_SIGN]
        self._missing += len(text) - len(shown)
        made = f"<pre class='{kind}'>{html.escape(shown)}</pre>" if kind else quote_text(shown)
        return made if self._take_room(made) else ""

    def _begin_piece(self, most):
        """Begin with a cell's source, or its outputs, of which there may be so much."""
        self._missing, self._floor = 0, max(0, self._room_left - most)

    def _take_room(self, made):
        """Whether there is room for a piece of the page; if so, it is taken."""
        cost = PIECE_COST + len(made) + TAG_COST * made.count("<")
        if cost > self._room_left - self._floor:
            return False
        self._room_left -= cost
        return True


def _make_frame(cell, place):
    """A cell without its text: what it is, and what nbgrader knows of it."""
    kind = "code" if cell.cell_type == "code" else "markdown"
    known = str(cell.get("id", ""))
    metadata = {}
    if marks := _clean_marks(cell.get("metadata", {}).get("nbgrader", {})):
        metadata["nbgrader"] = marks
    if kind == "markdown" and _is_locked(cell) and (found := HEADING.search(cell.source)):
        metadata["heading"] = found[1]
    new = {"cell_type": kind, "id": known if NAME.fullmatch(known) else f"cell-{place}"}
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return new | {"metadata": metadata, **more}


def _clean_marks(marks):
    """What nbgrader knows of a cell; each value has the type that it should have."""
    if not isinstance(marks, dict) or not NAME.fullmatch(str(marks.get("grade_id", ""))):
        return {}
    kept = {name: marks.get(name) is True for name in FLAGS}
    for name in NUMBERS:
        value = marks.get(name, 0)
        fits = isinstance(value, int | float) and math.isfinite(value)
        kept[name] = float(value) if fits else 0.0
    for name in ("comment", "model"):
        if isinstance(marks.get(name), str):
            kept[name] = _to_text(marks[name])
    return kept | {"grade_id": marks["grade_id"], "by_hand": marks.get("by_hand") is True}


def _clean_remarks(known):
    """What the grader says of the whole notebook, as text that can be shown."""
    known = known if isinstance(known, dict) else {}
    reason, flagged = known.get("reason"), known.get("flagged")
    reason = _to_text(reason)[:LONGEST_REASON] if isinstance(reason, str) else ""
    flagged = flagged if isinstance(flagged, list) else []
    return {
        "reason": "".join(sign for sign in reason if sign.isprintable()),
        "flagged": [name for name in map(str, flagged) if NAME.fullmatch(name)],
    }


def _clear_schemes(cells):
    """Take rubrics and model answers out of cells."""
    clear = ClearMarkScheme(enforce_metadata=False, check_attachment_leakage=False)
    for cell in cells:
        try:
            clear.preprocess_cell(cell, {}, 0)
        except RuntimeError:  # a student wrote these words in an order that makes no scheme
            cell.source = cell.source.partition(SCHEME_BEGIN)[0]


def _choose_attachments(attachments, most):
    """Those pictures that a page can show, of at most so many characters in all."""
    kept = {}
    for name, bundle in attachments.items():
        for kind in IMAGE_KINDS:
            data = bundle.get(kind, "") if isinstance(bundle, dict) else ""
            if isinstance(data, str) and 0 < len(data) <= most and BASE64.fullmatch(data):
                most -= len(data)
                kept[_to_text(name)] = {kind: data}
                break
    return kept


def _is_locked(cell):
    marks = cell.get("metadata", {}).get("nbgrader", {})
    return isinstance(marks, dict) and marks.get("locked") is True


def _is_check(cell):
    """Whether the grader wrote its outputs, and not the student's process."""
    return _is_locked(cell) and cell.metadata.nbgrader.get("grade") and cell.cell_type == "code"


def _strip_colours(value):
    """Text without a terminal's colours: some of them cannot be seen on paper."""
    return strip_ansi(_to_text(value))


def _to_text(value):
    return replace_surrogates(str(value))
