"""Print results as text with units, as JSON or as CSV."""

import csv
import io
import json
import math

import click

from roofkit._tables import format_text_table
from roofkit._units import RATIO_UNITS, format_quantity


def print_figures(form, figures):
    """Print (label, key, value, unit) tuples as lines of text, a JSON object or a CSV row."""
    document = {key: value for _, key, value, _ in figures}
    print_answer(form, document, [document], format_figures(figures))


def format_figures(figures):
    """Format (label, key, value, unit) tuples as lines of text."""
    return format_text_table(
        ("", ""),
        ("", ""),
        [(label, _format_value(value, unit)) for label, _, value, unit in figures],
    ).lstrip("\n")


def print_answer(form, document, rows, text):
    """Print the document as JSON, the rows as CSV, or the text."""
    if form == "json":
        click.echo(json.dumps(_to_json(document), indent=2))
    elif form == "csv":
        written = io.StringIO()
        writer = csv.DictWriter(written, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        click.echo(written.getvalue(), nl=False)
    else:
        click.echo(text)


def _format_value(value, unit):
    if value is None or isinstance(value, str):
        return value or "not tested"
    value = abs(value)  # the label says whether memory is spare or missing
    if unit in (*RATIO_UNITS, "/B") or (not unit and 1e-2 <= value < 1e5):
        return f"{value:.5g} {unit}".strip()
    return format_quantity(value, unit).strip()


def _to_json(value):
    """Replace infinity and NaN, which JSON lacks, with None."""
    if isinstance(value, dict):
        return {key: _to_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_to_json(each) for each in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value
