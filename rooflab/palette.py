"""The colours that figures, live pictures, decks, pages and feedback share: see palette.toml."""

import functools
import re
import tomllib
from pathlib import Path

# Where a page is dark: within JupyterLab and decks, and where the reader's system asks for it.
JUPYTER_DARK = '[data-jp-theme-light="false"]'
SYSTEM_DARK = "@media screen and (prefers-color-scheme: dark)"


def colour(name, dark=False):
    """The colour of a name in ``palette.toml``, on a light page or on a dark one.

    Raises KeyError for a name that the file does not have.

    >>> colour("roof"), colour("roof", dark=True)
    ('#0072B2', '#56B4E9')
    """
    value = {name: value for table in _read_tables().values() for name, value in table.items()}[
        name
    ]
    if isinstance(value, list):
        value = value[dark]
    return value if value.startswith("#") else colour(value)


def series():
    """The colours that the lines of a figure take in turn, as a tuple."""
    return tuple(_read_tables()["series"].values())


def css_variables(dark=False):
    """The colours of pages by the names of their custom properties, without the dashes.

    >>> css_variables()["roofline-right"]
    '#009E73'
    """
    return {f"roofline-{name}": colour(name, dark) for name in _read_tables()["pages"]}


def css_rules(dark):
    """A rule that gives a page its colours as custom properties.

    ``dark`` is the selector or media query under which the dark ones hold, JUPYTER or PREFERRED.

    >>> print(css_rules(JUPYTER).splitlines()[1])
      --roofline-roof: #0072B2;
    """
    light, night = (
        "\n".join(f"  --{name}: {value};" for name, value in css_variables(each).items())
        for each in (False, True)
    )
    return f":root {{\n{light}\n  {dark} {{\n{night}\n  }}\n}}\n"


def fill_colours(drawing):
    """The text of an SVG with its ``var(--roofline-NAME)`` replaced by the light colours.

    A drawing that a page shows as an image does not see the page's custom properties.

    >>> fill_colours('<path stroke="var(--roofline-roof)"/>')
    '<path stroke="#0072B2"/>'
    """
    return re.sub(r"var\(--roofline-(\w+)\)", lambda found: colour(found[1]), drawing)


@functools.cache
def _read_tables():
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
