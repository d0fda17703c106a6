"""The ids that a teacher gave out, in a file that names nobody: each stands there as a hash.

The first line that is no comment is the salt, every other one the hash of an id. Whoever has an id
can see whether it is in the file; whoever has the file alone would have to guess each.
"""

import hashlib
import secrets
from collections.abc import Iterable
from pathlib import Path

from roofcheck.sentences import sentence
from roofcheck.tables.variants import normalise_id

# As slow as one hash for a student may be, so that guessing takes long.
ROUNDS = 50_000
DIGITS = 32


def format_ids(ids: Iterable[str], remark: str = "") -> str:
    """The text of a file that knows these ids, under a comment.

    >>> len(format_ids(["ada", "Ada "]).split())
    2
    """
    salt = secrets.token_hex(16)
    hashes = sorted({_hash_id(salt, each) for each in ids})
    return "\n".join([*(f"# {line}" for line in remark.splitlines()), salt, *hashes, ""])


def is_known(path: Path, me: str) -> bool:
    """Whether the file has this id; case and spaces at its ends do not matter.

    Raises OSError if it cannot be read, and ValueError if it is no such file.
    """
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    salt, *hashes = [line for line in lines if line and not line.startswith("#")] or [""]
    if not salt or any(len(each) != DIGITS for each in (salt, *hashes)):
        raise ValueError(sentence("hand-in.bad_ids"))
    return _hash_id(salt, me) in hashes


def find_likely_id(path: Path, me: str) -> str:
    """The known id that somebody probably meant to write, or "".

    Only forms of what stands in ``me`` are tried, so that nobody learns another's id.
    """
    forms = ("".join(me.split()), me.partition("@")[0], me.strip("\"'<>()[].,;: "))
    tried = dict.fromkeys(form for form in forms if form and normalise_id(form) != normalise_id(me))
    return next((form for form in tried if is_known(path, form)), "")


def _hash_id(salt, me):
    made = hashlib.pbkdf2_hmac("sha256", normalise_id(me).encode(), salt.encode(), ROUNDS)
    return made.hex()[:DIGITS]
