"""Student ids: the allowed characters, and a file that stores a class's ids as hashes.

In the file, the first line that is not a comment is the salt; every other line is the hash of an
id. Anyone who knows an id can look it up. Anyone who has only the file has to guess, and each guess
takes time and memory.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from roofcheck.sentences import sentence
from roofcheck.tables.variants import normalise_id

# A hash takes 128 * COST * BLOCKS bytes, here 64 MiB, so guessing is slow on a graphics card, too.
# A student has to wait for one hash, about a fifth of a second.
COST, BLOCKS = 2**16, 8
DIGITS = 32
# The salt's line names the method, so a file written with another one isn't mistaken for a class
# without this id.
METHOD = f"scrypt-{COST}-{BLOCKS}:"
# The characters that an id may contain besides letters, marks and digits of any language. It omits
# those with a meaning in HTML, URLs, patterns or terminals, since nbgrader's pages show ids.
ID_SIGNS = frozenset(" ._-@+',()’·・")


def find_odd_signs(name: str) -> list[str]:
    """Return the characters of a name that are not allowed in an id, sorted.

    >>> find_odd_signs("ada.lovelace@example.edu"), find_odd_signs("<b>")
    ([], ['<', '>'])
    """
    return sorted(
        sign
        for sign in {*name}
        if unicodedata.category(sign)[0] not in "LMN" and sign not in ID_SIGNS
    )


def format_ids(ids: Iterable[str], remark: str = "") -> str:
    """Return the text of a file that stores these ids below a comment.

    >>> len(format_ids(["ada", "Ada "]).split())
    2
    """
    salt = secrets.token_hex(16)
    hashes = sorted({_hash_id(salt, student) for student in ids})
    return "\n".join([*(f"# {line}" for line in remark.splitlines()), METHOD + salt, *hashes, ""])


def is_known(path: Path, me: str) -> bool:
    """Return whether the file lists this id, ignoring case and surrounding spaces.

    Raises OSError if the file can't be read, and ValueError if it isn't an id file.
    """
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    salt, *hashes = [line for line in lines if line and not line.startswith("#")] or [""]
    salt, is_ours = salt.removeprefix(METHOD), salt.startswith(METHOD)
    if not is_ours or any(len(line) != DIGITS for line in (salt, *hashes)):
        raise ValueError(sentence("hand-in.bad_ids"))
    return _hash_id(salt, me) in hashes


def find_likely_id(path: Path, me: str) -> str:
    """Return the known id that a student probably meant, or "".

    Only variants of ``me`` are tried, so nobody learns another student's id.
    """
    forms = ("".join(me.split()), me.partition("@")[0], me.strip("\"'<>()[].,;: "))
    variants = dict.fromkeys(
        form for form in forms if form and normalise_id(form) != normalise_id(me)
    )
    return next((form for form in variants if is_known(path, form)), "")


def _hash_id(salt, me):
    password, memory = normalise_id(me).encode(), 256 * COST * BLOCKS  # twice what it takes
    options = {"n": COST, "r": BLOCKS, "p": 1, "maxmem": memory, "dklen": DIGITS // 2}
    return hashlib.scrypt(password, salt=salt.encode(), **options).hex()
