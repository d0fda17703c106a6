"""Decides which SVG drawings of students a browser can show in a reasonable time.

A drawing in an img tag runs and loads nothing. But it can repeat parts of itself, and repeated
parts can be nested, so 1,400 characters can produce a million circles.
"""

import math
import re
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"
METADATA = f"{NAMESPACE}metadata"
# The elements that plotting libraries use. Filters, patterns, masks, markers and animations are
# excluded, because a browser may take arbitrarily long to draw them.
SHAPES = (
    "circle clipPath defs desc ellipse g line linearGradient metadata path polygon polyline "
    "radialGradient rect stop style svg symbol text title tspan use"
)
TAGS = frozenset(f"{NAMESPACE}{shape}" for shape in SHAPES.split())
REFERENCE = re.compile(r"#([\w.:-]+)")
MOST_ELEMENTS = 50_000  # counting repetitions


def is_simple_drawing(svg):
    """Return whether a drawing consists of plain shapes only, and not too many of them.

    >>> is_simple_drawing('<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>')
    True
    >>> is_simple_drawing('<svg xmlns="http://www.w3.org/2000/svg"><filter/></svg>')
    False
    """
    try:
        root = ElementTree.fromstring(svg)
        for metadata in root.findall(METADATA):  # it is not drawn
            root.remove(metadata)
        return all(map(_is_plain_shape, root.iter())) and _count_elements(root) <= MOST_ELEMENTS
    except (ElementTree.ParseError, ValueError, RecursionError):
        return False


def _is_plain_shape(element):
    styles = element.tag == f"{NAMESPACE}style" and "url" in (element.text or "").lower()
    return element.tag in TAGS and not styles


def _count_elements(root):
    """Count the elements, including every repetition by reference."""
    by_id = {element.get("id"): element for element in root.iter()}
    counts = {}

    def count(element):
        if element not in counts:
            counts[element] = math.inf  # in case it contains itself
            names = REFERENCE.findall(" ".join(element.attrib.values()))
            referred = [by_id[name] for name in names if name in by_id]
            counts[element] = 1 + sum(map(count, (*element, *referred)))
        return counts[element]

    return count(root)
