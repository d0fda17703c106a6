"""What figures say: sentences and labels come from words/en.toml, lists of them are joined here."""

from pathlib import Path

from rooflab.words import Words

say = Words(Path(__file__).parent / "words")


def join_parts(parts, between="clauses"):
    """Parts as one text; ``between`` names what stands between them, an entry of ``lists``."""
    return say(f"lists.{between}").join(parts)


def word_for(table, name):
    """The word of a table for a name, or the name itself where the table has none for it."""
    key = f"{table}.{name}"
    return say(key) if key in say.templates() else name


def word_bound(name):
    """What a kernel is that compute or this channel binds: "memory-bound"."""
    key = f"bounds.{name}"
    return say(key) if key in say.templates() else say("bounds.other", channel=name)
