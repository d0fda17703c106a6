"""What a machine lacks for the sandbox, in words that say what to do."""

import shutil
import sys
from pathlib import Path

from roofgrade.errors import MachineryError

ELSEWHERE = (
    "grade in the container, or with --unsandboxed, which protects nothing and marks every result"
)
# What bubblewrap and the kernel say when there are no user namespaces, or none inside them.
REFUSALS = ("namespace", "setting up uid map", "unshare", "mount", "Operation not permitted")


def require():
    """Raises MachineryError where the sandbox cannot be."""
    if not sys.platform.startswith("linux"):
        raise MachineryError(f"the sandbox needs Linux, and this is {sys.platform}: {ELSEWHERE}")
    bubblewrap()
    if not Path("/proc/self/ns/user").exists():
        raise MachineryError(f"this kernel has no user namespaces: {ELSEWHERE}")


def bubblewrap() -> str:
    """The path of bubblewrap's program. Raises MachineryError if it is not installed."""
    found = shutil.which("bwrap")
    if not found:
        raise MachineryError(
            "bubblewrap, which the sandbox is made of, was not found: install the package "
            "bubblewrap (apt, dnf, pacman or apk)"
        )
    return found


def explained(said: str) -> MachineryError:
    """Why the warm Python did not start, from what was written on its stderr."""
    lines = said.strip().splitlines()
    reason = f"the sandbox did not start: {' '.join(lines[-3:]) or 'no reason was given'}"
    if any(refusal in said for refusal in REFUSALS):
        reason += "".join(f"\n{hint}" for hint in namespaces())
    elif "Permission denied" in said:
        reason += (
            "\nThe sandbox's own user cannot read something that it needs: open the folder of the "
            "environment or of roofkit with chmod -R go+rX"
        )
    return MachineryError(reason)


def namespaces() -> list[str]:
    """What on this machine may keep an ordinary user from making namespaces, and what to do."""
    hints = []
    if _setting("user/max_user_namespaces") == "0":
        hints.append("User namespaces are off: sysctl -w user.max_user_namespaces=10000")
    if _setting("kernel/unprivileged_userns_clone") == "0":
        hints.append(
            "Only root may make user namespaces: sysctl -w kernel.unprivileged_userns_clone=1"
        )
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        hints.append(
            "AppArmor limits user namespaces (as in Ubuntu since 24.04): "
            "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
        )
    if not hints:
        hints.append(
            "In a container, its runtime may refuse namespaces: docker run --user 1000 "
            "--security-opt seccomp=unconfined --security-opt apparmor=unconfined "
            "--security-opt systempaths=unconfined"
        )
    return [*hints, f"Else {ELSEWHERE}"]


def _setting(name):
    path = Path("/proc/sys", name)
    return path.read_text().strip() if path.exists() else ""
