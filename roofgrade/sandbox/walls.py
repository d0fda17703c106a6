"""Asks the kernel whether a child is sealed, before any student code runs."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from roofgrade.common.errors import MachineryError

CAPABILITIES = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")
SECCOMP_FILTERED = "2"


def check_sealed(pid: int, writable: Collection[str], warm: Mapping[str, int]):
    """Raise MachineryError unless process ``pid`` is sealed.

    ``writable`` lists the mounts that it may write to, and ``warm`` the namespaces of the warm
    Python. The process must share no namespace with the warm Python or this process.
    """
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    capabilities = [name for name in CAPABILITIES if int(status[name], 16)]
    if capabilities:
        raise MachineryError(f"a sandboxed process has capabilities: {', '.join(capabilities)}")
    if (status["NoNewPrivs"], status["Seccomp"]) != ("1", SECCOMP_FILTERED):
        raise MachineryError("a sandboxed process has no system call filter")
    if status["NSpid"].split()[-1] != "1":
        raise MachineryError("a sandboxed process is not process 1 of its namespace")
    mounts = [line.split() for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines()]
    mounts = {mount[4] for mount in mounts if "ro" not in mount[5].split(",")}
    if mounts != set(writable):
        raise MachineryError(f"a process can write to {sorted(mounts)}, not {sorted(writable)}")
    for kind, number in warm.items():
        namespace = os.stat(f"/proc/{pid}/ns/{kind}").st_ino
        if namespace in (number, os.stat(f"/proc/self/ns/{kind}").st_ino):
            raise MachineryError(f"a sandboxed process shares a {kind} namespace")
