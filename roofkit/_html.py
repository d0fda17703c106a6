"""Small helpers for the HTML that notebooks show."""

import re


def start_with_blank_line(html):
    """Put a blank line before the HTML of a notebook cell whose output may be folded.

    JupyterLab shows the first line of a folded output as text; a blank line reveals nothing.
    """
    return f" \n{html}"


def subscript_times(html):
    """Write T_math and the like as letters with subscripts."""
    return re.sub(r"\bT_([a-z]+)\b", r"<i>T</i><sub>\1</sub>", html)
