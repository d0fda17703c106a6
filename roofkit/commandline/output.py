"""Answers as text with units, as JSON or as CSV."""

import csv
import io
import json
import math

import click

from roofkit._tables import text_table
from roofkit._units import RATIOS, quantity


def print_figures(form, figures):
    """Print figures, each (label, key, value, unit), as lines of text, or as one object or row."""
    document = {key: value for _, key, value, _ in figures}
    print_answer(form, document, [document], figure_table(figures))


def figure_table(figures):
    """The figures as lines of text."""
    return text_table(
        ("", ""), ("", ""), [(label, _said(value, unit)) for label, _, value, unit in figures]
    ).lstrip("\n")


def print_answer(form, document, rows, text):
    """Print the document as JSON, the rows as CSV, or the text."""
    if form == "json":
        click.echo(json.dumps(_plain(document), indent=2))
    elif form == "csv":
        written = io.StringIO()
        writer = csv.DictWriter(written, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        click.echo(written.getvalue(), nl=False)
    else:
        click.echo(text)


def _said(value, unit):
    if isinstance(value, str):
        return value
    value = abs(value)  # a negative figure has a label that says what is missing
    if unit in (*RATIOS, "/B") or (not unit and 1e-2 <= value < 1e5):
        return f"{value:.5g} {unit}".strip()
    return quantity(value, unit).strip()


def _plain(value):
    """The value in what JSON knows; it has no infinity and no NaN, so these become null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
