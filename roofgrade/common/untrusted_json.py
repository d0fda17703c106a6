"""Reads all JSON that comes from students: submissions, and the replies of their processes.

Nothing else outside the sandbox reads such JSON. The result is plain data, bounded in length, depth
and number of values, that can be written as UTF-8. Files that this package wrote from it may be
read by other means.
"""

import itertools
import json
import re

from roofgrade.common.sentences import replace_surrogates, sentence

# The deepest nesting of lists. Recursive functions copy and write them.
DEEPEST = 100
# A string in JSON. The last one may have no end.
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)


class UnreadableError(ValueError):
    """The input is not JSON, or too much of it. The message says which."""


def read(raw: bytes, *, most: int, most_values: int):
    """Read JSON of at most ``most`` bytes and ``most_values`` values.

    Raises UnreadableError for anything else.

    >>> read(b'{"cells": []}', most=100, most_values=10)
    {'cells': []}
    """
    if len(raw) > most:
        raise UnreadableError(sentence("door.long", most=most))
    try:
        # Like json.loads, this recognises UTF-8 with a byte order mark, UTF-16 and UTF-32.
        text = raw.decode(json.detect_encoding(raw), "surrogatepass")
        # This comes before parsing, so that no value takes memory yet.
        if _count_values(text) > most_values < _count_values(STRING.sub("", text)):
            raise UnreadableError(sentence("door.many", most=most_values))
        data = json.loads(text)
        if _is_deep(data):
            raise RecursionError
        # Half a surrogate pair, which only a forger sends, cannot be written to a file.
        if r"\ud" in text or r"\uD" in text or replace_surrogates(text) is not text:
            data = json.loads(replace_surrogates(json.dumps(data, ensure_ascii=False)))
    except RecursionError:
        raise UnreadableError(sentence("door.nested")) from None
    except UnreadableError:
        raise
    except ValueError:
        raise UnreadableError(sentence("door.not_json")) from None
    return data


def _count_values(text):
    """Return an upper bound on the number of values."""
    return sum(map(text.count, ",[{:"))


def _is_deep(data):
    """Return whether lists are nested too deeply. Works by layers, so it needs no recursion."""
    layer = [data]
    for _ in range(DEEPEST):
        layer = [value.values() if isinstance(value, dict) else value
                 for value in layer if isinstance(value, (dict, list))]  # fmt: skip
        layer = [*itertools.chain.from_iterable(layer)]
    return bool(layer)
