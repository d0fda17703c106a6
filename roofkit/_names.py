"""Find an entry of a table by any of the names that people use for it."""

import re


def normalise_name(name):
    """Return the name in one case, without spaces, hyphens and underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def index_by_name(named):
    """Return the mapping with its names replaced by normalised ones."""
    return {normalise_name(name): thing for name, thing in named.items()}


def find_by_name(name, indexed, what):
    """Return the entry of ``indexed`` with this name; ValueError with the nearest names if none."""
    if not isinstance(name, str):
        raise ValueError(f"a {what}'s name must be text, got {type(name).__name__}: {name!r}")
    found = indexed.get(normalise_name(name))
    if found is None:
        raise ValueError(
            f"no {what} is named {name!r}; {_suggest_names(normalise_name(name), indexed)}"
        )
    return found


def _suggest_names(key, indexed):
    import difflib  # imported only for an error, so ``import roofkit`` stays quick

    close = [known for known in indexed if key and known.startswith(key)]
    close = close or difflib.get_close_matches(key, indexed, n=3, cutoff=0.5)
    if close:
        return "nearest: " + ", ".join(dict.fromkeys(indexed[known].name for known in close))
    return "the table has: " + ", ".join(dict.fromkeys(thing.name for thing in indexed.values()))
