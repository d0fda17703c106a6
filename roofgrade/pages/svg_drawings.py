"""Drawings of students in SVG: which of them a browser can show without being busy for hours.

As a picture in a page a drawing runs nothing and loads nothing. But it may show a part of itself
many times over, and parts in parts: 1,400 characters come to a million circles.
"""

import math
import re
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"
METADATA = f"{NAMESPACE}metadata"
# What plotting libraries draw with. Filters, patterns, masks, markers and animations are not among
# these: a browser may work on one of them as long as it likes.
SHAPES = (
    "circle clipPath defs desc ellipse g line linearGradient metadata path polygon polyline "
    "radialGradient rect stop style svg symbol text title tspan use"
)
TAGS = frozenset(f"{NAMESPACE}{shape}" for shape in SHAPES.split())
REFERENCE = re.compile(r"#([\w.:-]+)")
MOST_ELEMENTS = 50_000  # elements, each as often as it is shown


def is_simple_drawing(svg):
    """Whether a drawing is made of plain shapes, and of not too many.

    >>> is_simple_drawing('<svg xmlns="http://www.w3.org/2000/svg"><circle r="1"/></svg>')
    True
    >>> is_simple_drawing('<svg xmlns="http://www.w3.org/2000/svg"><filter/></svg>')
    False
    """
    try:
        root = ElementTree.fromstring(svg)
        for described in root.findall(METADATA):  # it is not drawn
            root.remove(described)
        return all(map(_is_plain_shape, root.iter())) and _count_elements(root) <= MOST_ELEMENTS
    except (ElementTree.ParseError, ValueError, RecursionError):
        return False


def _is_plain_shape(element):
    styles = element.tag == f"{NAMESPACE}style" and "url" in (element.text or "").lower()
    return element.tag in TAGS and not styles


def _count_elements(root):
    """How many elements there are, each as often as others refer to it."""
    named = {element.get("id"): element for element in root.iter()}
    known = {}

    def count(element):
        if element not in known:
            known[element] = math.inf  # for one that shows itself
            names = REFERENCE.findall(" ".join(element.attrib.values()))
            others = [named[name] for name in names if name in named]
            known[element] = 1 + sum(map(count, (*element, *others)))
        return known[element]

    return count(root)
