"""The package's sentences, and functions that make students' text safe to show."""

from pathlib import Path

from rooflab.words import Words

# Looks up sentences for students and teachers.
sentence = Words(Path(__file__).parents[1] / "words")


def replace_surrogates(text: str) -> str:
    """Join surrogate pairs and replace lone surrogates, so that text can be encoded as UTF-8.

    JSON may encode a character as a pair, and a forger may send only one half.

    >>> replace_surrogates("a\\ud83d\\ude00b\\ud83d") == "a\\N{GRINNING FACE}b\\ufffd"
    True
    """
    try:
        text.encode()
        return text
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def escape_text(name: str, most: int | None = 200) -> str:
    """Escape unprintable characters, and keep at most ``most`` characters.

    >>> escape_text("ps1\\x1b[2J.ipynb")
    'ps1\\\\x1b[2J.ipynb'
    """
    text = name.encode("utf-8", "backslashreplace").decode()
    signs = (sign if sign.isprintable() else f"\\x{ord(sign):02x}" for sign in text)
    return "".join(signs)[:most]


def escape_lines(text: str) -> str:
    """Escape all unprintable characters except newlines, for display in a terminal.

    >>> escape_lines("ada\\n\\x1b[2Jbob")
    'ada\\n\\\\x1b[2Jbob'
    """
    return "\n".join(escape_text(line, None) for line in text.split("\n"))


def format_points(value: float) -> str:
    """Format points with at most two decimals, and zero without a sign.

    >>> format_points(7.5), format_points(-0.001)
    ('7.5', '0')
    """
    return f"{round(value, 2) + 0.0:g}"
