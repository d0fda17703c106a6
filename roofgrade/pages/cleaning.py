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

from roofgrade.common.limits import TooMuchError, apart
from roofgrade.common.sentences import printable, words
from roofgrade.pages.drawing import is_simple
from roofgrade.pages.markup import clean_html, clean_markdown, code, plain, warm

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
HEADING = re.compile(r"^#{1,4} +(.+?)(?: *\([^()]*points?\b[^()]*\))?$", re.MULTILINE)
SCHEME = "BEGIN MARK SCHEME"
FLAGS = ("grade", "solution", "locked", "task")
NUMBERS = ("points", "score", "unread_points")
SVG, IMAGES = "image/svg+xml", ("image/png", "image/jpeg")
TEXTS = ("text/plain", "text/markdown", "text/latex", "text/html")
SHOWN = (*TEXTS, SVG, *IMAGES)
NEEDS_SCRIPT = (
    "application/javascript",
    "application/vnd.jupyter.widget-view+json",
)
# The most characters of an error, counted from its end, and of what is said of a whole notebook.
LONGEST_ERROR, LONGEST_REASON = 20_000, 2_000
# What a piece of a page costs beside its characters, and each tag in it: who reads the page makes
# an object of every one.
PIECE, TAG = 300, 20
# A sign takes at most as many in HTML.
WIDEST = 6


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
        warm()
        for plainly, cells in ((False, nb.cells), (True, nb.cells), (True, [])):
            with contextlib.suppress(TooMuchError):
                made = apart(_Page(self, plainly).notebook, nb, cells, seconds=self.seconds)
                return from_dict(made), resources
        raise TooMuchError


def ready(source, **_):
    """What ``Cleaning`` made, for the filters of nbconvert's templates: there is nothing to do."""
    return source


class _Page:
    """One page being made: how much room is left on it."""

    def __init__(self, settings, plainly):
        self._settings, self._plainly = settings, plainly
        self._left, self._read = settings.page_bytes, 0

    def notebook(self, nb, cells):
        """The new notebook as plain data, with these of its cells."""
        if not self._settings.schemes:
            _clear_schemes(cells)
        made = [_frame(cell, place) for place, cell in enumerate(cells)]
        pairs = [*zip(cells, made, strict=True)]
        # What the course and who marks say goes first: nothing of a student's may crowd it out.
        self._renders = True
        for cell, new in pairs:
            if _is_locked(cell):
                new["source"] = self._source(cell)
            if _is_check(cell):
                new["outputs"] = self._outputs(cell)
        self._renders = not self._plainly
        for new in made:
            if comment := new["metadata"].get("nbgrader", {}).get("comment"):
                new["metadata"]["nbgrader"]["comment"] = self._markup(clean_markdown, comment)
            if model := new["metadata"].get("nbgrader", {}).get("model"):
                new["metadata"]["nbgrader"]["model"] = self._markup(clean_markdown, model)
        for cell, new in pairs:
            if not _is_locked(cell):
                new["source"] = self._source(cell)
        for cell, new in pairs:
            if cell.cell_type == "code" and not _is_check(cell):
                new["outputs"] = self._outputs(cell)
        language = {"name": "python", "pygments_lexer": "python3"}
        said = _said(nb.metadata.get("roofgrade")) | {"plain": self._plainly}
        metadata = {"language_info": language, "roofgrade": said}
        return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}

    def _source(self, cell):
        source = _text_of(cell.get("source", ""))
        if cell.cell_type == "code":
            return self._markup(code, source)
        if cell.cell_type != "markdown":
            return self._text(source)
        attachments = _attachments(cell.get("attachments", {}), self._left)
        return self._markup(clean_markdown, source, attachments)

    def _outputs(self, cell):
        """The outputs that fit on the page, and a line about those that do not."""
        self._begin(self._settings.cell_bytes)
        found = [self._output(output) for output in cell.get("outputs", [])]
        if self._missing:
            found.append(plain(words("pages.cut", count=self._missing)))
        return [
            {"output_type": "display_data", "data": {"text/html": each}, "metadata": {}}
            for each in found
            if each
        ]

    def _output(self, output):
        kind = output.get("output_type")
        if kind == "stream":
            return self._fitted(_uncoloured(output.get("text", "")))
        if kind == "error":
            lines = "\n".join(map(str, output.get("traceback", [])))
            lines = lines or f"{output.get('ename', '')}: {output.get('evalue', '')}"
            return self._fitted(_uncoloured(lines[-LONGEST_ERROR:]), "error")
        return self._data(output.get("data", {}), output)

    def _data(self, found, output):
        """The best of the forms that a page can show."""
        data = {kind: _text_of(found[kind]) for kind in SHOWN if isinstance(found.get(kind), str)}
        for kind in ("text/html", "text/markdown", "text/latex"):
            if self._renders and kind in data:
                render = clean_html if kind == "text/html" else clean_markdown
                made = self._rendered(render, data[kind])
                made = self._fitted(data[kind]) if made is None else made
                # HTML that only a script fills has nothing to show.
                if re.sub(r"<(?!img)[^>]*>|\s", "", made):
                    return made
        if SVG in data and is_simple(data[SVG]):
            svg = base64.b64encode(data[SVG].encode()).decode()
            return self._picture(SVG, svg, output)
        for kind in IMAGES:
            if kind in data and BASE64.fullmatch(data[kind]):
                return self._picture(kind, data[kind], output)
        text = next((data[kind] for kind in TEXTS if kind in data), "")
        if SVG in data:
            text = f"{text}\n{words('pages.drawing')}".strip()
        elif not text or any(kind in found for kind in NEEDS_SCRIPT):
            text = f"{text}\n{words('pages.silent')}".strip()
        return self._fitted(text)

    def _picture(self, kind, data, output):
        known = output.get("metadata", {}).get(kind, {})
        alt = known.get("alt") if isinstance(known, dict) else None
        alt = _text_of(alt)[:1_000] if isinstance(alt, str) else words("feedback.figure")
        made = f'<img alt="{html.escape(alt)}" src="data:{kind};base64,{data}">'
        if self._takes(made):
            return made
        self._missing += len(data)
        return ""

    def _markup(self, render, source, *more):
        """A text rendered, or as it stands where that is too much."""
        self._begin(self._left)
        made = self._rendered(render, source, *more)
        return self._text(source) if made is None else made

    def _rendered(self, render, source, *more):
        """The HTML of a text, or None where there is too much to parse or to show."""
        self._read += len(source)
        if not self._renders or self._read > self._settings.markup_bytes:
            return None
        made = render(source, *more)
        return made if self._takes(made) else None

    def _text(self, source):
        self._begin(self._left)
        made = self._fitted(source)
        if self._missing:
            shown = {"most": len(source) - self._missing, "count": len(source)}
            made += plain(words("pages.cut_text", **shown))
        return made

    def _fitted(self, text, kind=""):
        """As much of a text as there is room for."""
        room = max(0, self._left - self._floor - 2 * PIECE)
        shown = text[:room]
        if len(html.escape(shown)) > room:
            shown = shown[: room // WIDEST]
        self._missing += len(text) - len(shown)
        made = f"<pre class='{kind}'>{html.escape(shown)}</pre>" if kind else plain(shown)
        return made if self._takes(made) else ""

    def _begin(self, most):
        """Begin with a cell's source, or its outputs, of which there may be so much."""
        self._missing, self._floor = 0, max(0, self._left - most)

    def _takes(self, made):
        """Whether there is room for a piece of the page; if so, it is taken."""
        cost = PIECE + len(made) + TAG * made.count("<")
        if cost > self._left - self._floor:
            return False
        self._left -= cost
        return True


def _frame(cell, place):
    """A cell without its text: what it is, and what nbgrader knows of it."""
    kind = "code" if cell.cell_type == "code" else "markdown"
    known = str(cell.get("id", ""))
    metadata = {}
    if marks := _marks(cell.get("metadata", {}).get("nbgrader", {})):
        metadata["nbgrader"] = marks
    if kind == "markdown" and _is_locked(cell) and (found := HEADING.search(cell.source)):
        metadata["heading"] = found[1]
    new = {"cell_type": kind, "id": known if NAME.fullmatch(known) else f"cell-{place}"}
    more = {"outputs": [], "execution_count": None} if kind == "code" else {}
    return new | {"metadata": metadata, **more}


def _marks(marks):
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
            kept[name] = _text_of(marks[name])
    return kept | {"grade_id": marks["grade_id"], "by_hand": marks.get("by_hand") is True}


def _said(known):
    """What the grader says of the whole notebook, as text that can be shown."""
    known = known if isinstance(known, dict) else {}
    reason, flagged = known.get("reason"), known.get("flagged")
    reason = _text_of(reason)[:LONGEST_REASON] if isinstance(reason, str) else ""
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
            cell.source = cell.source.partition(SCHEME)[0]


def _attachments(attachments, most):
    """Those pictures that a page can show, of at most so many characters in all."""
    kept = {}
    for name, bundle in attachments.items():
        for kind in IMAGES:
            data = bundle.get(kind, "") if isinstance(bundle, dict) else ""
            if isinstance(data, str) and 0 < len(data) <= most and BASE64.fullmatch(data):
                most -= len(data)
                kept[_text_of(name)] = {kind: data}
                break
    return kept


def _is_locked(cell):
    marks = cell.get("metadata", {}).get("nbgrader", {})
    return isinstance(marks, dict) and marks.get("locked") is True


def _is_check(cell):
    """Whether the grader wrote its outputs, and not the student's process."""
    return _is_locked(cell) and cell.metadata.nbgrader.get("grade") and cell.cell_type == "code"


def _uncoloured(value):
    """Text without a terminal's colours: some of them cannot be seen on paper."""
    return strip_ansi(_text_of(value))


def _text_of(value):
    return printable(str(value))
