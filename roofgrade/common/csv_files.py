"""The CSV files that a registrar or an LMS gives: with commas, semicolons or tabs."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from roofgrade.common.sentences import sentence

SEPARATORS = ",;\t"


@dataclass(frozen=True)
class Sheet:
    """The rows of a file, each with the number of its last line; the first row is the head."""

    path: Path
    separator: str
    head: list[str]
    rows: list[tuple[int, list[str]]]


def read(path) -> Sheet:
    """The Sheet in a file, with or without a byte order mark.

    Raises ValueError, with the line where there is one, for a file that is empty, not UTF-8 or no
    CSV, and for a row that is longer or shorter than the head; an empty row is left out.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(sentence("sheets.not_utf8", path=path)) from None
    separator = max(SEPARATORS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        said = sentence("sheets.no_csv", path=path, line=reader.line_num, error=error)
        raise ValueError(said) from None
    if not rows:
        raise ValueError(sentence("sheets.empty", path=path))
    (_, head), *rows = rows
    for line, row in rows:
        if len(row) != len(head):
            counts = {"cells": len(row), "headings": len(head)}
            raise ValueError(sentence("sheets.width", path=path, line=line, **counts))
    return Sheet(path, separator, head, rows)
