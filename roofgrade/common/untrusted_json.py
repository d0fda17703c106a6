"""The one door through which a student's words come into the grader.

What is handed in, and what a student's process replies, is JSON of whatever making. ``read`` reads
it, and nothing else outside the sandbox does. What comes out is plain: bounded in length, depth and
the number of its values, and fit to be written as UTF-8. What this package has written itself, of
words that came through here, may be read by other means.
"""

import json
import re

from roofgrade.common.sentences import replace_surrogates, sentence

# How deep lists may lie in lists: functions that call themselves copy and write them.
DEEPEST = 100
# A text in JSON; the last one may have no end.
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)


class UnreadableError(ValueError):
    """What came is no JSON, or more of it than is read; the message says which."""


def read(raw: bytes, *, most: int, most_values: int):
    """The plain data that JSON of at most ``most`` bytes and ``most_values`` values stands for.

    Raises UnreadableError for everything else.

    >>> read(b'{"cells": []}', most=100, most_values=10)
    {'cells': []}
    """
    if len(raw) > most:
        raise UnreadableError(sentence("door.long", most=most))
    try:
        # As json.loads does: UTF-8 with its mark, UTF-16 and UTF-32 are found out.
        text = raw.decode(json.detect_encoding(raw), "surrogatepass")
        _check_count(text, most_values)
        found = json.loads(text)
        if _is_deep(found):
            raise RecursionError
        # Half a surrogate pair, which only a forger sends, cannot be written to a file.
        if r"\ud" in text or r"\uD" in text or replace_surrogates(text) is not text:
            found = json.loads(replace_surrogates(json.dumps(found, ensure_ascii=False)))
    except RecursionError:
        raise UnreadableError(sentence("door.nested")) from None
    except UnreadableError:
        raise
    except ValueError:
        raise UnreadableError(sentence("door.not_json")) from None
    return found


def _check_count(text, most):
    """Raise UnreadableError for too many values, before any of them takes memory."""
    if _count_values(text) > most and _count_values(STRING.sub("", text)) > most:
        raise UnreadableError(sentence("door.many", most=most))


def _count_values(text):
    """How often a value begins, or more often."""
    return sum(map(text.count, ",[{:"))


def _is_deep(found):
    """Whether lists lie in lists too deep, found without following each of them down."""
    layer = [found]
    for _ in range(DEEPEST):
        layer = [each for each in layer if isinstance(each, (dict, list))]
        layer = [
            inner for each in layer for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(layer)
