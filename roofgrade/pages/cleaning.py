"""A graded notebook with nothing left in it that could harm a page which shows it.

The notebook is made anew: of each cell its text, of its outputs what a page can show, of its
metadata what nbgrader's templates read. Formgrader's pages and the feedback are both made of it.
"""

import math
import re

import nbformat
from nbconvert.filters import strip_ansi
from nbconvert.preprocessors import Preprocessor
from traitlets import Integer

from roofgrade.pages.markup import clean_html, clean_markdown, plain
from roofgrade.text import printable, words

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")
FLAGS = ("grade", "solution", "locked", "task")
NUMBERS = ("points", "score", "unread_points")
IMAGES = ("image/png", "image/jpeg")
NEEDS_SCRIPT = (
    "application/javascript",
    "application/vnd.jupyter.widget-view+json",
)


class Cleaning(Preprocessor):
    """Rebuild a notebook from what is known to be harmless."""

    cell_bytes = Integer(200_000, help="The most of a cell's outputs that a page shows.").tag(
        config=True
    )
    page_bytes = Integer(2_000_000, help="The most of all outputs that a page shows.").tag(
        config=True
    )
    markup_bytes = Integer(
        200_000, help="The most of all HTML and Markdown that is parsed for a page."
    ).tag(config=True)

    def preprocess(self, nb, resources):
        """The same cells in a new notebook."""
        self._used = self._parsed = 0
        # What the course wrote goes first: nothing that a student prints may crowd it out.
        places = sorted(range(len(nb.cells)), key=lambda place: not _is_locked(nb.cells[place]))
        cells = {place: self._cell(nb.cells[place], place) for place in places}
        language = {"name": "python", "pygments_lexer": "python3"}
        new = nbformat.v4.new_notebook(
            cells=[cells[place] for place in sorted(cells)], metadata={"language_info": language}
        )
        return new, resources

    def _cell(self, cell, place):
        source = _printable(cell.get("source", ""))[: self.cell_bytes]
        known = cell.get("id", "")
        new = {"id": known if NAME.fullmatch(str(known)) else f"cell-{place}"}
        if marks := _marks(cell.get("metadata", {}).get("nbgrader", {})):
            new["metadata"] = {"nbgrader": marks}
        if cell.cell_type == "code":
            outputs = self._outputs(cell.get("outputs", []))
            return nbformat.v4.new_code_cell(source, outputs=outputs, **new)
        if cell.cell_type != "markdown" or not self._may_parse(source):
            source = plain(source)
        attachments = self._attachments(cell.get("attachments", {}))
        return nbformat.v4.new_markdown_cell(source, attachments=attachments, **new)

    def _outputs(self, outputs):
        """The outputs that fit on the page, and a line about those that do not."""
        kept, used, missing = [], 0, 0
        for output in outputs:
            cleaned = self._output(output)
            size = len(str(cleaned))
            room = min(self.cell_bytes - used, self.page_bytes - self._used)
            if size > room:
                missing += size
                cleaned = _shortened(cleaned, room)
                size = len(str(cleaned)) if cleaned else 0
            if cleaned:
                kept.append(cleaned)
                used += size
                self._used += size
        if missing:
            line = words("pages.cut", count=missing)
            kept.append(nbformat.v4.new_output("stream", name="stdout", text=line))
        return kept

    def _output(self, output):
        kind = output.get("output_type")
        if kind == "stream":
            name = "stderr" if output.get("name") == "stderr" else "stdout"
            text = _uncoloured(output.get("text", ""))
            return nbformat.v4.new_output("stream", name=name, text=text)
        if kind == "error":
            parts = {name: _printable(output.get(name, "")) for name in ("ename", "evalue")}
            lines = [_uncoloured(line) for line in output.get("traceback", [])]
            return nbformat.v4.new_output("error", traceback=lines, **parts)
        data = self._data(output.get("data", {}))
        said = {kind: _alt(output.get("metadata", {}), kind) for kind in data if kind in IMAGES}
        return nbformat.v4.new_output("display_data", data=data, metadata=said)

    def _data(self, data):
        """The best of the forms that a page can show."""
        found = {kind: _printable(value) for kind, value in data.items() if isinstance(value, str)}
        if html := found.get("text/html"):
            # HTML that only a script fills has nothing to show.
            cleaned = clean_html(html) if self._may_parse(html) else plain(html)
            if re.sub(r"<(?!img)[^>]*>|\s", "", cleaned):
                return {"text/html": cleaned}
        for kind in ("text/markdown", "text/latex"):
            if kind in found and self._may_parse(found[kind]):
                return {"text/html": clean_markdown(found[kind])}
        if svg := found.get("image/svg+xml"):
            return {"image/svg+xml": svg}  # the templates put it into an image, which runs nothing
        for kind in IMAGES:
            if kind in found and BASE64.fullmatch(found[kind]):
                return {kind: found[kind]}
        text = found.get("text/plain", "")
        if not text or any(kind in data for kind in NEEDS_SCRIPT):
            text = f"{text}\n{words('pages.silent')}".strip()
        return {"text/plain": text}

    def _attachments(self, attachments):
        kept = {}
        for name, bundle in attachments.items():
            for kind in IMAGES:
                data = bundle.get(kind, "") if isinstance(bundle, dict) else ""
                if isinstance(data, str) and data and BASE64.fullmatch(data):
                    if self._used + len(data) <= self.page_bytes:
                        self._used += len(data)
                        kept[_printable(name)] = {kind: data}
                    break
        return kept

    def _may_parse(self, source):
        self._parsed += len(source)
        return self._parsed <= self.markup_bytes


def _marks(marks):
    """What nbgrader knows of a cell; each value has the type that it should have."""
    if not isinstance(marks, dict) or not NAME.fullmatch(str(marks.get("grade_id", ""))):
        return {}
    kept = {name: marks.get(name) is True for name in FLAGS}
    for name in NUMBERS:
        value = marks.get(name, 0)
        fits = isinstance(value, int | float) and math.isfinite(value)
        kept[name] = float(value) if fits else 0.0
    if isinstance(marks.get("comment"), str):
        kept["comment"] = _printable(marks["comment"])
    return kept | {"grade_id": marks["grade_id"], "by_hand": marks.get("by_hand") is True}


def _alt(metadata, kind):
    """What a picture shows, where its author said so."""
    known = metadata.get(kind, {})
    alt = known.get("alt") if isinstance(known, dict) else None
    return {"alt": _printable(alt)[:1_000]} if isinstance(alt, str) else {}


def _shortened(output, room):
    """As much of a text as there is room for; of a picture or a table nothing."""
    if output.output_type == "stream" and room > 200:
        output.text = output.text[: room - 100]
        return output
    if output.output_type == "error" and room > 200:
        output.evalue, output.traceback = "", ["\n".join(output.traceback)[-room + 200 :]]
        return output
    return None


def _is_locked(cell):
    marks = cell.get("metadata", {}).get("nbgrader", {})
    return isinstance(marks, dict) and marks.get("locked") is True


def _uncoloured(value):
    """Text without a terminal's colours: some of them cannot be seen on paper."""
    return strip_ansi(_printable(value))


def _printable(value):
    return printable(str(value))
