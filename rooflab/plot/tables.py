"""Columns of text and numbers as a table."""

from collections.abc import Mapping

import numpy as np

from roofkit._html import start_with_blank_line
from roofkit._tables import format_html_table, format_text_table


def table(columns):
    """Return columns as a table for a notebook to display.

    Parameters
    ----------
    columns : mapping of header to a sequence of texts or numbers, all of the same length
        Numbers have four significant digits; pass text for more or fewer.

    Raises ValueError if the lengths differ or there are no columns.

    >>> table({"chip": ["TPU v5e", "H100"], "ridge": [240.537, 295.343]})
    chip     ridge
    TPU v5e  240.5
    H100     295.3
    """
    if not isinstance(columns, Mapping) or not columns:
        raise ValueError(f"columns must map headers to sequences, got {columns!r}")
    columns = {head: list(values) for head, values in columns.items()}
    if len({len(values) for values in columns.values()}) > 1:
        lengths = ", ".join(f"{head!r} {len(values)}" for head, values in columns.items())
        raise ValueError(f"columns must all have the same length, got {lengths}")
    rows = [tuple(map(_format_cell, row)) for row in zip(*columns.values(), strict=True)]
    return Table(tuple(columns), rows)


class Table:
    """Rows of text under a header, made by ``table()``."""

    def __init__(self, head, rows):
        self.head, self.rows = head, rows

    def __repr__(self):
        return format_text_table(self.head, [""] * len(self.head), self.rows)

    def _repr_html_(self):
        return start_with_blank_line(format_html_table(self.head, [""] * len(self.head), self.rows))


def _format_cell(value):
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:,.4g}" if isinstance(value, (float, np.floating)) else str(value)
