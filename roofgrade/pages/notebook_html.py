"""Renders a graded notebook as HTML that cannot harm the page around it.

It builds a new notebook with the text, outputs and metadata that pages need, from which both
Formgrader's pages and feedback are made. A separate process with limits reads the student's
content. Content beyond the limits becomes plain text.
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
from roofgrade.pages import safe_markup
from roofgrade.pages.safe_markup import clean_html, clean_markdown, highlight_code, quote_text
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
# Maximum characters of an error, counted from its end, and of the remarks on a notebook.
LONGEST_ERROR, LONGEST_REASON = 20_000, 2_000
# The cost of each piece and tag of a page in addition to its characters, since a browser creates an
# object for each.
PIECE_COST, TAG_COST = 300, 20
WIDEST_SIGN = 6  # the most characters of HTML for one of text


class Cleaning(Preprocessor):
    """Rebuilds a notebook as HTML: each cell's source, and each output as ``text/html``."""

    cell_bytes = Integer(200_000, help="Limit of a cell's outputs.").tag(config=True)
    page_bytes = Integer(2_000_000, help="Limit of a page.").tag(config=True)
    markup_bytes = Integer(200_000, help="Limit of markup and code to parse.").tag(config=True)
    seconds = Float(5.0, help="Limit of the time to render a notebook.").tag(config=True)
    schemes = Bool(True, help="Whether to show rubrics and model answers.").tag(config=True)

    def preprocess(self, nb, resources):
        """Return the cells in a new notebook, with remarks in ``metadata.roofgrade``.

        The remarks are the grader's ``reason`` and ``flagged``, and ``plain``, which says that the
        student's content was too large to render. A notebook without cells never is.
        """
        safe_markup.warm_up_parsers()
        for is_plain, cells in ((False, nb.cells), (True, nb.cells), (True, [])):
            with contextlib.suppress(LimitExceededError):
                builder = _PageBuilder(self, is_plain)
                notebook = call_in_fork(builder.build, nb, cells, seconds=self.seconds)
                return from_dict(notebook), resources
        raise LimitExceededError


def pass_through(source, **_):
    """Return the source unchanged: nbconvert's templates apply this filter to clean HTML."""
    return source


class _PageBuilder:
    """Builds one page and tracks the room left on it."""

    def __init__(self, settings, is_plain):
        self._settings, self._is_plain = settings, is_plain
        self._room_left, self._characters_read = settings.page_bytes, 0
        self._links = True

    def build(self, nb, cells):
        """Return the new notebook with these cells, as plain data."""
        if not self._settings.schemes:
            _clear_schemes(cells)
        frames = [_make_frame(cell, place) for place, cell in enumerate(cells)]
        pairs = [*zip(cells, frames, strict=True)]
        # The course's texts, checks and comments come first, so that student content cannot use up
        # their room.
        self._renders = True
        for cell, new in pairs:
            if _is_locked(cell):
                new["source"] = self._render_source(cell)
            if _is_check(cell):
                new["outputs"] = self._render_outputs(cell)
        self._renders = not self._is_plain
        for new in frames:
            marks = new["metadata"].get("nbgrader", {})
            for name in ("comment", "model"):
                if text := marks.get(name):
                    marks[name] = self._render_or_quote(clean_markdown, text)
        # On a hub, the page behind a student's link could act as whoever opens it.
        self._links = False
        for cell, new in pairs:
            if not _is_locked(cell):
                new["source"] = self._render_source(cell)
        for cell, new in pairs:
            if cell.cell_type == "code" and not _is_check(cell):
                new["outputs"] = self._render_outputs(cell)
        language = {"name": "python", "pygments_lexer": "python3"}
        remarks = _clean_remarks(nb.metadata.get("roofgrade")) | {"plain": self._is_plain}
        metadata = {"language_info": language, "roofgrade": remarks}
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": frames}

    def _render_source(self, cell):
        source = _to_text(cell.get("source", ""))
        if cell.cell_type == "code":
            return self._render_or_quote(highlight_code, source)
        if cell.cell_type != "markdown":
            return self._quote_text(source)
        attachments = _choose_attachments(cell.get("attachments", {}), self._room_left)
        return self._render_or_quote(clean_markdown, source, attachments)

    def _render_outputs(self, cell):
        self._begin_piece(self._settings.cell_bytes)
        pieces = [self._render_output(output) for output in cell.get("outputs", [])]
        if self._missing:
            pieces.append(quote_text(sentence("pages.cut", count=self._missing)))
        return [
            {"output_type": "display_data", "data": {"text/html": piece}, "metadata": {}}
            for piece in pieces
            if piece
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

    def _render_data(self, formats, output):
        kinds = [kind for kind in SHOWN_KINDS if isinstance(formats.get(kind), str)]
        data = {kind: _to_text(formats[kind]) for kind in kinds}
        for kind in ("text/html", "text/markdown", "text/latex"):
            if self._renders and kind in data:
                render = clean_html if kind == "text/html" else clean_markdown
                piece = self._try_render(render, data[kind])
                piece = self._fit_text(data[kind]) if piece is None else piece
                # Skip HTML that is empty without a script.
                if re.sub(r"<(?!img)[^>]*>|\s", "", piece):
                    return piece
        if SVG in data and is_simple_drawing(data[SVG]):
            svg = base64.b64encode(data[SVG].encode()).decode()
            return self._render_picture(SVG, svg, output)
        for kind in IMAGE_KINDS:
            if kind in data and BASE64.fullmatch(data[kind]):
                return self._render_picture(kind, data[kind], output)
        text = next((data[kind] for kind in TEXT_KINDS if kind in data), "")
        if SVG in data:
            text = f"{text}\n{sentence('pages.drawing')}".strip()
        elif not text or any(kind in formats for kind in NEEDS_SCRIPT):
            text = f"{text}\n{sentence('pages.silent')}".strip()
        return self._fit_text(text)

    def _render_picture(self, kind, data, output):
        metadata = output.get("metadata", {}).get(kind, {})
        alt = metadata.get("alt") if isinstance(metadata, dict) else None
        alt = _to_text(alt)[:1_000] if isinstance(alt, str) else sentence("feedback.figure")
        piece = f'<img alt="{html.escape(alt)}" src="data:{kind};base64,{data}">'
        if self._take_room(piece):
            return piece
        self._missing += len(data)
        return ""

    def _render_or_quote(self, render, source, *more):
        self._begin_piece(self._room_left)
        piece = self._try_render(render, source, *more)
        return self._quote_text(source) if piece is None else piece

    def _try_render(self, render, source, *more):
        """Render text as HTML, or return None if it is too long to parse or to show."""
        self._characters_read += len(source)
        if not self._renders or self._characters_read > self._settings.markup_bytes:
            return None
        piece = render(source, *more)
        piece = piece if self._links else safe_markup.spell_out_links(piece)
        return piece if self._take_room(piece) else None

    def _quote_text(self, source):
        self._begin_piece(self._room_left)
        piece = self._fit_text(source)
        if self._missing:
            counts = {"most": len(source) - self._missing, "count": len(source)}
            piece += quote_text(sentence("pages.cut_text", **counts))
        return piece

    def _fit_text(self, text, kind=""):
        room = max(0, self._room_left - self._floor - 2 * PIECE_COST)
        start = text[:room]
        if len(html.escape(start)) > room:
            start = start[: room // WIDEST_SIGN]
        self._missing += len(text) - len(start)
        piece = f"<pre class='{kind}'>{html.escape(start)}</pre>" if kind else quote_text(start)
        return piece if self._take_room(piece) else ""

    def _begin_piece(self, most):
        self._missing, self._floor = 0, max(0, self._room_left - most)

    def _take_room(self, piece):
        cost = PIECE_COST + len(piece) + TAG_COST * piece.count("<")
        if cost > self._room_left - self._floor:
            return False
        self._room_left -= cost
        return True


def _make_frame(cell, place):
    kind = "code" if cell.cell_type == "code" else "markdown"
    cell_id = str(cell.get("id", ""))
    metadata = {}
    if marks := _clean_marks(cell.get("metadata", {}).get("nbgrader", {})):
        metadata["nbgrader"] = marks
    if kind == "markdown" and _is_locked(cell) and (match := HEADING.search(cell.source)):
        metadata["heading"] = match[1]
    new = {"cell_type": kind, "id": cell_id if NAME.fullmatch(cell_id) else f"cell-{place}"}
    fields = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return new | {"metadata": metadata, **fields}


def _clean_marks(marks):
    if not isinstance(marks, dict) or not NAME.fullmatch(str(marks.get("grade_id", ""))):
        return {}
    clean = {name: marks.get(name) is True for name in FLAGS}
    for name in NUMBERS:
        value = marks.get(name, 0)
        fits = isinstance(value, int | float) and math.isfinite(value)
        clean[name] = float(value) if fits else 0.0
    for name in ("comment", "model"):
        if isinstance(marks.get(name), str):
            clean[name] = _to_text(marks[name])
    return clean | {"grade_id": marks["grade_id"], "by_hand": marks.get("by_hand") is True}


def _clean_remarks(remarks):
    remarks = remarks if isinstance(remarks, dict) else {}
    reason, flagged = remarks.get("reason"), remarks.get("flagged")
    reason = _to_text(reason)[:LONGEST_REASON] if isinstance(reason, str) else ""
    flagged = flagged if isinstance(flagged, list) else []
    return {
        "reason": "".join(sign for sign in reason if sign.isprintable()),
        "flagged": [name for name in map(str, flagged) if NAME.fullmatch(name)],
    }


def _clear_schemes(cells):
    clear = ClearMarkScheme(enforce_metadata=False, check_attachment_leakage=False)
    for cell in cells:
        try:
            clear.preprocess_cell(cell, {}, 0)
        except RuntimeError:  # a student put the marks in the wrong order
            cell.source = cell.source.partition(SCHEME_BEGIN)[0]


def _choose_attachments(attachments, most):
    chosen = {}
    for name, bundle in attachments.items():
        for kind in IMAGE_KINDS:
            data = bundle.get(kind, "") if isinstance(bundle, dict) else ""
            if isinstance(data, str) and 0 < len(data) <= most and BASE64.fullmatch(data):
                most -= len(data)
                chosen[_to_text(name)] = {kind: data}
                break
    return chosen


def _is_locked(cell):
    marks = cell.get("metadata", {}).get("nbgrader", {})
    return isinstance(marks, dict) and marks.get("locked") is True


def _is_check(cell):
    """Return whether the cell's outputs are from the grader, not the student's process."""
    return _is_locked(cell) and cell.metadata.nbgrader.get("grade") and cell.cell_type == "code"


def _strip_colours(value):
    return strip_ansi(_to_text(value))


def _to_text(value):
    return replace_surrogates(str(value))
