"""Assign answers to the named parts of a question by their labels."""

import re
from collections.abc import Mapping

from roofcheck.reading.expressions import LONGEST_TEXT
from roofcheck.reading.numbers import UnreadableError, list_items
from roofcheck.reading.spelling import to_plain_signs
from roofcheck.sentences import join_items, sentence

# Separators between answers, clearest first. A comma may be part of a number.
SEPARATORS = (
    r"\s*;\s*",
    r",\s+|,?\s+and\s+|\s*和\s*",
    r",(?!\d{3}(?!\d))",
    r"\s+(?=[-+.\d])(?<=\d\s)",
)
LABEL = re.compile(r"^\s*[\"']?([A-Za-z0-9][^:=]*(?:=[^:=]*)*?)[\"']?\s*[:=]\s*(?=[^:=]*$)(.*)$")
LABEL_APART = re.compile(r"^\s*([A-Za-z][A-Za-z_ ]*?)\s+(?=[-+~≈.\d])(.*)$")


def order_by_labels(answer, names):
    """Return the answers to named parts in the order of the names.

    The answer can be a list, mapping, generator or text. Items labelled with a part's name go to
    that part, and the others fill the remaining parts in order. Raises UnreadableError.

    >>> order_by_labels("bytes = 2e6, FLOPs: 3e9", ["FLOPs", "bytes"])
    ['3e9', '2e6']
    >>> order_by_labels({"Bytes": 2e6, "flops": 3e9}, ["FLOPs", "bytes"])
    [3000000000.0, 2000000.0]
    """
    if isinstance(answer, (set, frozenset)):
        raise UnreadableError(sentence("order.set"))
    if isinstance(answer, str):
        answer = _split_parts(answer, len(names))
    if isinstance(answer, Mapping):
        pairs = [(find_part(label, names), value) for label, value in answer.items()]
    else:
        pairs = [_read_label(item, names) for item in list_items(answer, len(names) + 1)]
    if len(pairs) != len(names):
        raise UnreadableError(sentence("parts.count", count=len(names), names=join_items(names)))
    taken = [place for place, _ in pairs if place is not None]
    if twice := [names[place] for place in taken if taken.count(place) > 1]:
        raise UnreadableError(sentence("parts.twice", name=twice[0]))
    left = iter(n for n in range(len(names)) if n not in taken)
    ordered = {next(left) if place is None else place: value for place, value in pairs}
    return [ordered[place] for place in range(len(names))]


def find_part(label, names):
    """Return the index of the only name that a label matches, or None.

    >>> names = ["FLOPs", "T_lower", "T_upper"]
    >>> find_part("flops", names), find_part("Lower time", names), find_part("T", names)
    (0, None, None)
    """
    if not isinstance(label, str) or not (label := _normalise_name(label)):
        return None
    plains = [_normalise_name(name) for name in names]
    words = set(label.split())
    for fits in (
        lambda name: name == label,
        lambda name: name.startswith(label),
        lambda name: words <= set(name.split()),
    ):
        places = [n for n, name in enumerate(plains) if fits(name)]
        if places:
            return places[0] if len(places) == 1 else None
    return None


def _normalise_name(text):
    text = re.sub(r"\([^()]*\)", "", to_plain_signs(text[:LONGEST_TEXT])).casefold()
    text = re.sub(r"(?<=\d) ?[*x] ?(?=\d)", "x", text)
    return re.sub(r"^(?:the|an?) (?=\w)", "", " ".join(re.sub(r"\W|_", " ", text).split()))


def _split_parts(text, many):
    if len(text) > LONGEST_TEXT:
        why = sentence("expression.too-long", most=LONGEST_TEXT)
        raise UnreadableError(sentence("unread.no-number", text=repr(f"{text[:39]}…"), why=why))
    # Line breaks are separators, too, but ``to_plain_signs`` drops them.
    text = ";".join(map(to_plain_signs, text.strip().splitlines())).strip("; ")
    text = re.sub(r"^[\[{](.*)[\]}]$|^\((?!.*\).*\()(.*)\)$", r"\1\2", text)
    for separator in SEPARATORS:
        parts = [part for part in re.split(separator, text) if part.strip()]
        if len(parts) == many:
            return parts
    return [text]


def _read_label(item, names):
    """Return the index of the part named by a label, or None, and the answer without the label."""
    if isinstance(item, (tuple, list)) and len(item) == 2 and isinstance(item[0], str):
        return find_part(item[0], names), item[1]
    if isinstance(item, str) and len(item) <= LONGEST_TEXT:
        match = LABEL.match(item) or LABEL_APART.match(item)
        place = find_part(match[1], names) if match else None
        if match and place is None:
            place = find_part(re.split("[:=]", match[1])[0], names)
        return place, item if place is None else match[2]
    return None, item
