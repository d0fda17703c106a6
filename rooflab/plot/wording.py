"""The text of figures: sentences and labels from words/en.toml, and lists of them."""

from pathlib import Path

from rooflab.words import Words

say = Words(Path(__file__).parent / "words")


def join_parts(parts, between="clauses"):
    """Join parts into one text; ``between`` names the separator, an entry of ``lists``."""
    return say(f"lists.{between}").join(parts)


def word_for(table, name):
    """Return the text for a name in a table, or the name itself if the table has none."""
    key = f"{table}.{name}"
    return say(key) if key in say.templates() else name


def word_bound(name):
    """Return the verdict on a kernel bound by compute or a channel, such as "memory-bound"."""
    key = f"bounds.{name}"
    return say(key) if key in say.templates() else say("bounds.other", channel=name)
