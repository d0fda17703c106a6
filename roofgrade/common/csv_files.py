"""Reads CSV files from a registrar or an LMS, separated by commas, semicolons or tabs."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from roofgrade.common.sentences import sentence

SEPARATORS = ",;\t"


@dataclass(frozen=True)
class Sheet:
    """A CSV file's header, and its other rows with the number of each row's last line."""

    path: Path
    separator: str
    head: list[str]
    rows: list[tuple[int, list[str]]]


def read(path) -> Sheet:
    """Read a CSV file, with or without a byte order mark, and skip empty rows.

    Raises ValueError if the file is empty, not UTF-8 or not CSV, or if a row is longer or shorter
    than the header.
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
        text = sentence("sheets.no_csv", path=path, line=reader.line_num, error=error)
        raise ValueError(text) from None
    if not rows:
        raise ValueError(sentence("sheets.empty", path=path))
    (_, head), *rows = rows
    for line, row in rows:
        if len(row) != len(head):
            counts = {"cells": len(row), "headings": len(head)}
            raise ValueError(sentence("sheets.width", path=path, line=line, **counts))
    return Sheet(path, separator, head, rows)
