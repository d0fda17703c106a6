"""What a machine lacks for the sandbox, in words that say what to do."""

import shutil
import sys
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import words

# What bubblewrap and the kernel say when there are no user namespaces, or none inside them.
REFUSALS = ("namespace", "setting up uid map", "unshare", "mount", "Operation not permitted")


def require():
    """Raises MachineryError where the sandbox cannot run."""
    if not sys.platform.startswith("linux"):
        where = {"system": sys.platform, "elsewhere": words("sandbox.elsewhere")}
        raise MachineryError(words("sandbox.not_linux", **where))
    bubblewrap()
    if not Path("/proc/self/ns/user").exists():
        raise MachineryError(words("sandbox.no_namespaces", elsewhere=words("sandbox.elsewhere")))


def bubblewrap() -> str:
    """The path of bubblewrap's program. Raises MachineryError if it is not installed."""
    found = shutil.which("bwrap")
    if not found:
        raise MachineryError(words("sandbox.no_bubblewrap"))
    return found


def explained(said: str) -> MachineryError:
    """Why the warm Python did not start, from what was written on its stderr."""
    lines = said.strip().splitlines()
    key = "sandbox.not_started" if lines else "sandbox.not_started_mute"
    told = [words(key, reason=" ".join(lines[-3:]))]
    if any(refusal in said for refusal in REFUSALS):
        told += namespaces()
    elif "Permission denied" in said:
        told.append(words("sandbox.permission"))
    return MachineryError("\n".join(told))


def namespaces() -> list[str]:
    """What on this machine may keep an ordinary user from making namespaces, and what to do."""
    hints = []
    if _setting("user/max_user_namespaces") == "0":
        hints.append(words("sandbox.namespaces_off"))
    if _setting("kernel/unprivileged_userns_clone") == "0":
        hints.append(words("sandbox.namespaces_root"))
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        hints.append(words("sandbox.apparmor"))
    if not hints:
        hints.append(words("sandbox.container"))
    return [*hints, words("sandbox.otherwise", elsewhere=words("sandbox.elsewhere"))]


def _setting(name):
    path = Path("/proc/sys", name)
    return path.read_text().strip() if path.exists() else ""
