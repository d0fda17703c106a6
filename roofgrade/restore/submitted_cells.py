"""Reads submitted cells as bounded plain data, regardless of the program that wrote them."""

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
# Pasted pictures of these types are kept. Other types may contain scripts.
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif"})
# The left side of an assignment: names, tuples and lists, but no attributes.
TARGET = re.compile(r"[\w\s,*()\[\]]+")
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]*")


@dataclass(frozen=True)
class SubmittedCell:
    """One submitted cell. ``grade_id`` and ``id`` are as submitted, or ""."""

    kind: str
    source: str
    grade_id: str = ""
    id: str = ""
    attachments: dict[str, dict[str, str]] = field(default_factory=dict)

    @cached_property
    def bound_names(self) -> set[str]:
        """The names that the code appears to assign; empty for a text cell."""
        return find_bound_names(self.source) if self.kind == "code" else set()

    @cached_property
    def stripped_lines(self) -> list[str]:
        return strip_lines(self.source)


def read_cells(raw: bytes) -> list[SubmittedCell]:
    """Read the cells of a notebook in Jupyter's format 2, 3 or 4.

    Raises RefusedError, with a message for the student, if it is not a notebook or is too large.
    """
    try:
        notebook = untrusted_json.read(raw, most=LARGEST, most_values=MOST_VALUES)
    except untrusted_json.UnreadableError as error:
        raise RefusedError(sentence("mend.unreadable", why=error)) from None
    listed = _find_cells(notebook)
    if len(listed) > MOST_CELLS:
        raise RefusedError(sentence("mend.many_cells", count=len(listed), most=MOST_CELLS))
    cells = [_read_cell(cell) for cell in listed]
    if sum(len(cell.source) for cell in cells) > LONGEST_NOTEBOOK:
        raise RefusedError(sentence("mend.long_notebook", most=LONGEST_NOTEBOOK))
    return cells


def strip_lines(source: str) -> list[str]:
    """Return a source's lines, without trailing spaces and outer blank lines."""
    return [line.rstrip() for line in source.strip().splitlines()]


def find_bound_names(source: str) -> set[str]:
    """Return names that code appears to assign, define or import, even if its syntax is invalid.

    The search goes line by line, since student code can crash a parser.

    >>> sorted(find_bound_names("a, ridge = 1, 2; print(x, sep='')\\n%magic\\ndef f(b=3): ..."))
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
        # a == b and a <= b assign nothing; a: float = 3 has its name before the colon.
        for part in re.split(r"(?<![=!<>+*/%&|^@:-])=(?!=)", text)[:-1]:
            for target in part.split(":"):
                if TARGET.fullmatch(target) and not re.search(r"\w\s*[(\[]", target):
                    names.update(re.findall(r"[^\W\d]\w*", target))
    return names


def _find_cells(notebook):
    """Return the list of cells: at the top level in format 4, in worksheets in older formats."""
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):
        sheets = notebook.get("worksheets")
        sheets = sheets if isinstance(sheets, list) else []
        lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
        in_order = [cell for part in lists if isinstance(part, list) for cell in part]
        cells = in_order if lists else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise RefusedError(sentence("mend.no_cells"))
    return cells


def _read_cell(cell):
    kind, source = cell.get("cell_type"), cell.get("source", cell.get("input", ""))
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str) or len(source) > LONGEST_SOURCE:
        raise RefusedError(sentence("mend.long_cell", most=LONGEST_SOURCE))
    if kind == "heading":
        level = cell.get("level")
        is_valid = type(level) is int and 1 <= level <= 6
        kind, source = "markdown", f"{'#' * (level if is_valid else 1)} {source}"
    metadata = cell.get("metadata")
    nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return SubmittedCell(
        kind=kind if kind in ("code", "markdown") else "raw",
        source=replace_surrogates(source),
        grade_id=_text_or_empty(nbgrader.get("grade_id")) if isinstance(nbgrader, dict) else "",
        id=_text_or_empty(cell.get("id")),
        attachments=_clean_attachments(cell.get("attachments")),
    )


def _clean_attachments(attachments):
    clean = {}
    for name, pictures in attachments.items() if isinstance(attachments, dict) else ():
        safe = {}
        for kind, data in pictures.items() if isinstance(pictures, dict) else ():
            if isinstance(data, list) and all(isinstance(part, str) for part in data):
                data = "".join(data)
            if kind in PICTURES and isinstance(data, str) and BASE64.fullmatch(data):
                safe[kind] = data
        if safe:
            clean[replace_surrogates(name)] = safe
    return clean


def _text_or_empty(value):
    return value if isinstance(value, str) else ""
