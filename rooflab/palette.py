"""Colours shared by figures, interactive figures, decks, pages and feedback (palette.toml)."""

import functools
import re
import tomllib
from pathlib import Path

# Dark pages: in the dark theme of JupyterLab and decks, or if the reader's system prefers dark.
JUPYTER_DARK = '[data-jp-theme-light="false"]'
SYSTEM_DARK = "@media screen and (prefers-color-scheme: dark)"


def colour(name, dark=False):
    """Return the colour with this name in ``palette.toml``, for a light or a dark page.

    Raises KeyError for an unknown name.

    >>> colour("roof"), colour("roof", dark=True)
    ('#0072B2', '#56B4E9')
    """
    value = {key: value for table in _read_tables().values() for key, value in table.items()}[name]
    if isinstance(value, list):
        value = value[dark]
    return value if value.startswith("#") else colour(value)


def series():
    """Return the colours for the lines of a figure, in order, as a tuple."""
    return tuple(_read_tables()["series"].values())


def css_variables(dark=False):
    """Return a dict of CSS custom properties, without leading dashes, and their colours.

    >>> css_variables()["roofline-right"]
    '#009E73'
    """
    return {f"roofline-{name}": colour(name, dark) for name in _read_tables()["pages"]}


def css_rules(dark):
    """Return a CSS rule that sets the colours of a page as custom properties.

    ``dark`` is the selector or media query for dark pages: JUPYTER_DARK or SYSTEM_DARK.

    >>> print(css_rules(JUPYTER_DARK).splitlines()[1])
      --roofline-roof: #0072B2;
    """
    light, night = (
        "\n".join(f"  --{name}: {value};" for name, value in css_variables(mode).items())
        for mode in (False, True)
    )
    return f":root {{\n{light}\n  {dark} {{\n{night}\n  }}\n}}\n"


def fill_colours(drawing):
    """Return an SVG with every ``var(--roofline-NAME)`` replaced by its light colour.

    An SVG shown as an image cannot use the custom properties of its page.

    >>> fill_colours('<path stroke="var(--roofline-roof)"/>')
    '<path stroke="#0072B2"/>'
    """
    return re.sub(r"var\(--roofline-(\w+)\)", lambda match: colour(match[1]), drawing)


@functools.cache
def _read_tables():
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
