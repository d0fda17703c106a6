"""Explains what a machine lacks to run the sandbox, and what to do about it."""

import shutil
import sys
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

# Words in the errors of bubblewrap and the kernel if they cannot create user namespaces.
REFUSALS = ("namespace", "setting up uid map", "unshare", "mount", "Operation not permitted")
# Settings that prevent ordinary users from creating namespaces, with their explanations.
BLOCKS = (
    ("sandbox.namespaces_off", "user/max_user_namespaces", "0"),
    ("sandbox.namespaces_root", "kernel/unprivileged_userns_clone", "0"),
    ("sandbox.apparmor", "kernel/apparmor_restrict_unprivileged_userns", "1"),
)


def check_host():
    """Raise MachineryError if the sandbox cannot run on this machine."""
    elsewhere = sentence("sandbox.elsewhere")
    if not sys.platform.startswith("linux"):
        text = sentence("sandbox.not_linux", system=sys.platform, elsewhere=elsewhere)
        raise MachineryError(text)
    find_bubblewrap()
    if not Path("/proc/self/ns/user").exists():
        raise MachineryError(sentence("sandbox.no_namespaces", elsewhere=elsewhere))


def find_bubblewrap() -> str:
    """Return the path of bubblewrap. Raises MachineryError if it is not installed."""
    path = shutil.which("bwrap")
    if not path:
        raise MachineryError(sentence("sandbox.no_bubblewrap"))
    return path


def explain_failure(log: str) -> MachineryError:
    """Return an error that explains, from the warm Python's log, why it did not start."""
    lines = log.strip().splitlines()
    key = "sandbox.not_started" if lines else "sandbox.not_started_mute"
    sentences = [sentence(key, reason=" ".join(lines[-3:]))]
    if any(refusal in log for refusal in REFUSALS):
        keys = [key for key, setting, value in BLOCKS if _read_setting(setting) == value]
        sentences += map(sentence, keys or ["sandbox.container"])
        sentences.append(sentence("sandbox.otherwise", elsewhere=sentence("sandbox.elsewhere")))
    elif "Permission denied" in log:
        sentences.append(sentence("sandbox.permission"))
    return MachineryError("\n".join(sentences))


def _read_setting(name):
    path = Path("/proc/sys", name)
    return path.read_text().strip() if path.exists() else ""
