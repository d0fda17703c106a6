"""Reads all JSON from students: their submissions, and the replies of their processes.

No other code outside the sandbox reads such JSON. The result is plain data of limited length, depth
and size that can be encoded as UTF-8. Other code may read files that this package writes from that
data.
"""

import itertools
import json
import re

from roofgrade.common.sentences import replace_surrogates, sentence

# The deepest nesting of lists, since recursive functions copy and write them.
DEEPEST = 100
# A JSON string. The last one in a text may be unterminated.
STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\Z)', re.DOTALL)


class UnreadableError(ValueError):
    """The input is not JSON or is too large. The message says which."""


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
        # Count before parsing, when the values do not take up memory yet.
        if _count_values(text) > most_values < _count_values(STRING.sub("", text)):
            raise UnreadableError(sentence("door.many", most=most_values))
        data = json.loads(text)
        if _is_deep(data):
            raise RecursionError
        # A lone surrogate, which only a forger sends, cannot be written to a file.
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
    """Return whether lists are nested too deeply, going layer by layer instead of recursively."""
    layer = [data]
    for _ in range(DEEPEST):
        layer = [value.values() if isinstance(value, dict) else value
                 for value in layer if isinstance(value, (dict, list))]  # fmt: skip
        layer = [*itertools.chain.from_iterable(layer)]
    return bool(layer)
