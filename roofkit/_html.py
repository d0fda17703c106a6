"""Helpers for HTML output in notebooks."""

import re


def start_with_blank_line(html):
    """Add a blank line before the HTML of a cell output that may be collapsed.

    JupyterLab shows the first line of a collapsed output as text, which would be raw HTML.
    """
    return f" \n{html}"


def subscript_times(html):
    """Format T_math and similar names with subscripts."""
    return re.sub(r"\bT_([a-z]+)\b", r"<i>T</i><sub>\1</sub>", html)
