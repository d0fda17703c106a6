"""Compiles a list of allowed system calls to a BPF program for seccomp."""

import errno
import functools
import tempfile
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

ALLOWED_FILE = Path(__file__).with_suffix(".txt")
# The flags of clone for new namespaces and for another parent. clone3 passes its flags by pointer,
# so the filter denies it and libc falls back to clone.
CLONE_NEW = 0x7E028000
# AF_UNIX, AF_INET and AF_INET6. Other families, such as vsock, ignore network namespaces.
SOCKET_FAMILIES = (1, 2, 10)
# The options at level SOL_SOCKET that notebooks set. None of them enlarges the kernel's buffers:
# SO_REUSEADDR, BROADCAST, KEEPALIVE, LINGER, REUSEPORT, PASSCRED, RCVTIMEO and SNDTIMEO.
SOL_SOCKET, SOCKET_OPTIONS = 1, (2, 6, 9, 13, 15, 16, 20, 21)
# Commands of fcntl: F_DUPFD to F_GETLK, F_SETOWN to F_GETSIG, F_DUPFD_CLOEXEC, F_SETPIPE_SZ and
# F_GETPIPE_SZ.
FCNTL_COMMANDS = (*range(6), *range(8, 12), 1030, 1031, 1032)
# F_SETLK, F_SETLKW and the same for open files. The kernel does not limit the number of locks, and
# only processes of one submission could need them, so the filter reports success and sets no lock.
FCNTL_LOCKS = (6, 7, 37, 38)


def list_allowed() -> list[str]:
    """Return the system calls in syscalls.txt, where each group starts with its name."""
    names = []
    for line in ALLOWED_FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            names += line.split() if line.startswith(" ") else line.split()[1:]
    return names


@functools.cache
def make_filter() -> bytes:
    """Return the filter for this processor. Raises MachineryError without libseccomp."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise MachineryError(sentence("sandbox.no_libseccomp", error=error)) from error
    filters = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    for name in list_allowed():
        if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) < 0:
            continue  # for another processor, or newer than this libseccomp
        if name == "socket":
            for family in SOCKET_FAMILIES:
                filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.EQ, family))
        elif name == "setsockopt":
            level = pyseccomp.Arg(1, pyseccomp.EQ, SOL_SOCKET)
            for number in SOCKET_OPTIONS:
                option = pyseccomp.Arg(2, pyseccomp.EQ, number)
                filters.add_rule(pyseccomp.ALLOW, name, level, option)
            filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(1, pyseccomp.NE, SOL_SOCKET))
        elif name == "fcntl":
            for command in FCNTL_COMMANDS:
                filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(1, pyseccomp.EQ, command))
            for command in FCNTL_LOCKS:
                filters.add_rule(pyseccomp.ERRNO(0), name, pyseccomp.Arg(1, pyseccomp.EQ, command))
        elif name == "clone":
            no_new = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0)
            filters.add_rule(pyseccomp.ALLOW, name, no_new)
        else:
            filters.add_rule(pyseccomp.ALLOW, name)
    with tempfile.TemporaryFile() as file:
        filters.export_bpf(file)
        file.seek(0)
        return file.read()
