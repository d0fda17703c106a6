"""The cells of a submitted notebook as plain data, whatever program wrote it, within bounds."""

import re
from dataclasses import dataclass, field
from functools import cached_property

from roofgrade.common import untrusted_json
from roofgrade.common.errors import RefusedError
from roofgrade.common.sentences import replace_surrogates, sentence

LARGEST = 10 << 20  # bytes
MOST_VALUES = 500_000
MOST_CELLS = 500
LONGEST_SOURCE = 200_000
LONGEST_NOTEBOOK = 2_000_000
# A text keeps pasted pictures of these kinds; other kinds may carry script.
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})
# What may stand left of an equals sign: names, in tuples and lists; no attribute of something.
TARGET = re.compile(r"[\w\s,*()\[\]]+")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


@dataclass(frozen=True)
class SubmittedCell:
    """One submitted cell; ``grade_id`` and ``id`` are what it says of itself, or ""."""

    kind: str
    source: str
    grade_id: str = ""
    id: str = ""
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def bound_names(self) -> set[str]:
        """What its code seems to assign; nothing if it is no code."""
        return find_bound_names(self.source) if self.kind == "code" else set()

    @cached_property
    def stripped_lines(self) -> list[str]:
        """Its source without what does not show: blank ends of lines and of the cell."""
        return strip_lines(self.source)


def read_cells(raw: bytes) -> list[SubmittedCell]:
    """The cells of a notebook in any of Jupyter's formats, 2 to 4.

    Raises RefusedError, with words for the student, if it is no notebook or beyond the bounds.
    """
    try:
        notebook = untrusted_json.read(raw, most=LARGEST, most_values=MOST_VALUES)
    except untrusted_json.UnreadableError as error:
        raise RefusedError(sentence("mend.unreadable", why=error)) from None
    found = _find_cells(notebook)
    if len(found) > MOST_CELLS:
        raise RefusedError(sentence("mend.many_cells", count=len(found), most=MOST_CELLS))
    cells = [_read_cell(cell) for cell in found]
    if sum(len(cell.source) for cell in cells) > LONGEST_NOTEBOOK:
        raise RefusedError(sentence("mend.long_notebook", most=LONGEST_NOTEBOOK))
    return cells


def strip_lines(source: str) -> list[str]:
    """A source without what does not show: blank ends of lines and of the whole."""
    return [line.rstrip() for line in source.strip().splitlines()]


def find_bound_names(source: str) -> set[str]:
    """The names that code seems to assign, define or import, right or not as Python.

    It is read line by line: a parser can be brought down by what a student wrote.

    >>> sorted(find_bound_names("a, ridge = 1, 2; print(x, sep='')\\n%matplotlib widget\\ndef f(b=3): ..."))
    ['a', 'f', 'ridge']
    """
    names = set()
    for line in re.split(r"[\n;]", source):
        text = line.split("#", 1)[0].strip()
        if defined := re.match(r"(?:async\s+)?(?:def|class)\s+(\w+)", text):
            names.add(defined[1])
            continue
        names.update(re.findall(r"\bas\s+(\w+)", text))
        names.update(re.findall(r"\bfor\s+(\w+)\s+in\b", text))
        # In a == b and a <= b nothing is assigned; a: float = 3 has its name before the colon.
        for part in re.split(r"(?<![=!<>+*/%&|^@:-])=(?!=)", text)[:-1]:
            for target in part.split(":"):
                if TARGET.fullmatch(target) and not re.search(r"\w\s*[(\[]", target):
                    names.update(re.findall(r"[^\W\d]\w*", target))
    return names


def _find_cells(notebook):
    """The list of cells: in format 4 at the top, before that in worksheets."""
    found = notebook.get("cells") if isinstance(notebook, dict) else None
    if found is None and isinstance(notebook, dict):
        sheets = notebook.get("worksheets")
        sheets = [sheet for sheet in sheets if isinstance(sheet, dict)] if _is_list(sheets) else []
        lists = [sheet.get("cells") for sheet in sheets]
        found = [cell for each in lists if _is_list(each) for cell in each] if lists else None
    if not _is_list(found) or not all(isinstance(cell, dict) for cell in found):
        raise RefusedError(sentence("mend.no_cells"))
    return found


def _read_cell(cell):
    kind, source = cell.get("cell_type"), cell.get("source", cell.get("input", ""))
    if _is_list(source) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str) or len(source) > LONGEST_SOURCE:
        raise RefusedError(sentence("mend.long_cell", most=LONGEST_SOURCE))
    if kind == "heading":
        level = cell.get("level")
        known = type(level) is int and 1 <= level <= 6
        kind, source = "markdown", f"{'#' * (level if known else 1)} {source}"
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return SubmittedCell(
        kind=kind if kind in ("code", "markdown") else "raw",
        source=replace_surrogates(source),
        grade_id=_text_or_empty(nbgrader.get("grade_id")) if isinstance(nbgrader, dict) else "",
        id=_text_or_empty(cell.get("id")),
        attachments=_clean_attachments(cell.get("attachments")),
    )


def _clean_attachments(found):
    kept = {}
    for name, pictures in found.items() if isinstance(found, dict) else ():
        whole = {
            kind: "".join(data) if _is_list(data) and all(map(_is_text, data)) else data
            for kind, data in (pictures.items() if isinstance(pictures, dict) else ())
            if kind in PICTURES
        }
        safe = {k: data for k, data in whole.items() if _is_text(data) and BASE64.fullmatch(data)}
        if safe:
            kept[replace_surrogates(name)] = safe
    return kept


def _text_or_empty(value):
    return value if isinstance(value, str) else ""


def _is_text(value):
    return isinstance(value, str)


def _is_list(value):
    return isinstance(value, list)
