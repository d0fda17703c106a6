"""Format rows as a table: aligned text for a terminal, or HTML for a notebook.

Each row has one cell per column. A cell is text, or a (text, tooltip) pair; only notebooks show the
tooltip. The first column is left-aligned, the others right-aligned.
"""

import importlib
import textwrap
from collections.abc import Mapping

import numpy as np

from roofkit._html import start_with_blank_line, subscript_times


def format_text_table(head, units, rows):
    """Format the table with columns two spaces apart, and any units below the headings."""
    lines = [
        head,
        *([units] if any(units) else []),
        *([_cell_text(cell) for cell in row] for row in rows),
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            text.rjust(width) if column else text.ljust(width)
            for column, (text, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def wrap_lines(text):
    """Wrap the text at 100 characters, and indent all lines except the first."""
    return textwrap.fill(text, 100, subsequent_indent="    ")


def format_html_table(head, units, rows):
    """Format the table as a ``<table>`` element."""
    from html import escape  # slow to import, and needed only in notebooks

    sides = ["left", *["right"] * (len(head) - 1)]

    def head_of(name, unit, side):
        if not (name or unit):
            return "<td></td>"  # a screen reader would announce an empty <th> as a heading
        below = f"<br><small>{escape(unit)}</small>" if unit else ""
        return f'<th style="text-align: {side}">{subscript_times(escape(name))}{below}</th>'

    def cell_of(column, cell):
        remark = "" if isinstance(cell, str) else cell[1]
        title = f' title="{escape(remark, quote=True)}"' if remark else ""
        return f'<td style="text-align: {sides[column]}"{title}>{escape(_cell_text(cell))}</td>'

    heads = "".join(map(head_of, head, units, sides))
    body = "".join(f"<tr>{''.join(map(cell_of, range(len(row)), row))}</tr>" for row in rows)
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def to_frame(rows):
    """Convert a list of dicts to a pandas DataFrame with one column per key."""
    try:
        pandas = importlib.import_module("pandas")  # needed only for frames
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "a DataFrame needs pandas: pip install pandas; or use .rows, a list of dicts",
            name="pandas",
        ) from None
    return pandas.DataFrame(rows)


def _cell_text(cell):
    return cell if isinstance(cell, str) else cell[0]


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
