"""What a machine lacks for the sandbox, in words that say what to do."""

import shutil
import sys
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

# What bubblewrap and the kernel say when there are no user namespaces, or none inside them.
REFUSALS = ("namespace", "setting up uid map", "unshare", "mount", "Operation not permitted")


def check_host():
    """Raises MachineryError where the sandbox cannot run."""
    if not sys.platform.startswith("linux"):
        where = {"system": sys.platform, "elsewhere": sentence("sandbox.elsewhere")}
        raise MachineryError(sentence("sandbox.not_linux", **where))
    find_bubblewrap()
    if not Path("/proc/self/ns/user").exists():
        raise MachineryError(
            sentence("sandbox.no_namespaces", elsewhere=sentence("sandbox.elsewhere"))
        )


def find_bubblewrap() -> str:
    """The path of bubblewrap's program. Raises MachineryError if it is not installed."""
    found = shutil.which("bwrap")
    if not found:
        raise MachineryError(sentence("sandbox.no_bubblewrap"))
    return found


def explain_failure(said: str) -> MachineryError:
    """Why the warm Python did not start, from what was written on its stderr."""
    lines = said.strip().splitlines()
    key = "sandbox.not_started" if lines else "sandbox.not_started_mute"
    told = [sentence(key, reason=" ".join(lines[-3:]))]
    if any(refusal in said for refusal in REFUSALS):
        told += explain_namespaces()
    elif "Permission denied" in said:
        told.append(sentence("sandbox.permission"))
    return MachineryError("\n".join(told))


def explain_namespaces() -> list[str]:
    """What on this machine may keep an ordinary user from making namespaces, and what to do."""
    hints = []
    if _read_setting("user/max_user_namespaces") == "0":
        hints.append(sentence("sandbox.namespaces_off"))
    if _read_setting("kernel/unprivileged_userns_clone") == "0":
        hints.append(sentence("sandbox.namespaces_root"))
    if _read_setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        hints.append(sentence("sandbox.apparmor"))
    if not hints:
        hints.append(sentence("sandbox.container"))
    return [*hints, sentence("sandbox.otherwise", elsewhere=sentence("sandbox.elsewhere"))]


def _read_setting(name):
    path = Path("/proc/sys", name)
    return path.read_text().strip() if path.exists() else ""
