"""Text that people read: the sentences of this package, and strangers' words made safe to show."""

from pathlib import Path

from rooflab.words import Words

# Whoever says something to a student or a teacher looks it up here, when it is shown.
sentence = Words(Path(__file__).parents[1] / "words")


def replace_surrogates(text: str) -> str:
    """The text, fit to be written as UTF-8: halves of a surrogate pair are joined or replaced.

    JSON may hold a character as two halves, and a forger may send one of them alone.

    >>> replace_surrogates("a\\ud83d\\ude00b\\ud83d") == "a\\N{GRINNING FACE}b\\N{REPLACEMENT CHARACTER}"
    True
    """
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def escape_text(name: str, most: int | None = 200) -> str:
    """A name as text that can be printed and stored: what has no sign of its own is escaped.

    The text has at most so many characters.

    >>> escape_text("ps1\\x1b[2J.ipynb")
    'ps1\\\\x1b[2J.ipynb'
    """
    text = name.encode("utf-8", "backslashreplace").decode()
    signs = (sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
    return "".join(signs)[:most]


def escape_lines(text: str) -> str:
    """Text of several lines, fit for a terminal: only the ends of its lines move the cursor.

    >>> escape_lines("ada\\n\\x1b[2Jbob")
    'ada\\n\\\\x1b[2Jbob'
    """
    return "\n".join(escape_text(line, None) for line in text.split("\n"))


def format_points(value: float) -> str:
    """Points as people read them: two decimals at most, and 0 without a sign.

    >>> format_points(7.5), format_points(-0.001)
    ('7.5', '0')
    """
    return f"{round(value, 2) + 0.0:g}"
