"""Find table entries by any of their common names."""

import re


def normalise_name(name):
    """Return the name in lower case, without spaces, hyphens or underscores."""
    return re.sub(r"[\s_-]+", "", name).casefold()


def index_by_name(named):
    """Return the mapping with normalised names."""
    return {normalise_name(name): thing for name, thing in named.items()}


def find_by_name(name, indexed, what):
    """Return the entry of ``indexed`` with this name, or raise ValueError with similar names."""
    if not isinstance(name, str):
        raise ValueError(f"a {what}'s name must be text, got {type(name).__name__}: {name!r}")
    found = indexed.get(normalise_name(name))
    if found is None:
        raise ValueError(
            f"no {what} is named {name!r}; {_suggest_names(normalise_name(name), indexed)}"
        )
    return found


def _suggest_names(key, indexed):
    import difflib  # imported only on errors, to keep ``import roofkit`` fast

    close = [known for known in indexed if key and known.startswith(key)]
    close = close or difflib.get_close_matches(key, indexed, n=3, cutoff=0.5)
    if close:
        return "nearest: " + ", ".join(dict.fromkeys(indexed[known].name for known in close))
    return "the table has: " + ", ".join(dict.fromkeys(thing.name for thing in indexed.values()))
