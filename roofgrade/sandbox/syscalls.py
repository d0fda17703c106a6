"""What a submission may ask of the kernel, as a BPF program for seccomp."""

import errno
import functools
import tempfile
from pathlib import Path

from roofgrade.common.errors import MachineryError
from roofgrade.common.sentences import sentence

ALLOWED_FILE = Path(__file__).with_suffix(".txt")
# The namespaces and the parent that clone could give a process; clone3, which hides its flags
# behind a pointer, is not allowed at all, and libc falls back.
CLONE_NEW = 0x7E028000
# AF_UNIX, AF_INET and AF_INET6: vsock, for one, does not stop at a network namespace.
SOCKET_FAMILIES = (1, 2, 10)
# Of the options at level SOL_SOCKET all that notebooks set, and none by which the kernel would hold
# more for a socket: SO_REUSEADDR, BROADCAST, KEEPALIVE, LINGER, REUSEPORT, PASSCRED, RCVTIMEO and
# SNDTIMEO.
SOL_SOCKET, SOCKET_OPTIONS = 1, (2, 6, 9, 13, 15, 16, 20, 21)
# Commands of fcntl: F_DUPFD to F_GETLK, F_SETOWN to F_GETSIG, F_DUPFD_CLOEXEC and the pipe's size.
FCNTL_COMMANDS = (*range(6), *range(8, 12), 1030, 1031, 1032)
# F_SETLK, F_SETLKW and the same for open files. The kernel has no limit on how many it remembers,
# and only processes of one submission could meet: they are told yes, and nothing is remembered.
FCNTL_LOCKS = (6, 7, 37, 38)


def list_allowed() -> list[str]:
    """The system calls of the list. Each group there opens with its name."""
    found = []
    for line in ALLOWED_FILE.read_text().splitlines():
        if line and not line.startswith("#"):
            found += line.split() if line.startswith(" ") else line.split()[1:]
    return found


@functools.cache
def make_filter() -> bytes:
    """The filter, for this machine's processor. Raises MachineryError without libseccomp."""
    try:
        import pyseccomp
    except (ImportError, RuntimeError, OSError) as error:
        raise MachineryError(sentence("sandbox.no_libseccomp", error=error)) from error
    filters = pyseccomp.SyscallFilter(pyseccomp.ERRNO(errno.ENOSYS))
    for name in list_allowed():
        if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) < 0:
            continue  # another processor's, or newer than this libseccomp
        if name == "socket":
            for family in SOCKET_FAMILIES:
                filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(0, pyseccomp.EQ, family))
        elif name == "setsockopt":
            level = pyseccomp.Arg(1, pyseccomp.EQ, SOL_SOCKET)
            for option in SOCKET_OPTIONS:
                filters.add_rule(
                    pyseccomp.ALLOW, name, level, pyseccomp.Arg(2, pyseccomp.EQ, option)
                )
            filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(1, pyseccomp.NE, SOL_SOCKET))
        elif name == "fcntl":
            for command in FCNTL_COMMANDS:
                filters.add_rule(pyseccomp.ALLOW, name, pyseccomp.Arg(1, pyseccomp.EQ, command))
            for command in FCNTL_LOCKS:
                filters.add_rule(pyseccomp.ERRNO(0), name, pyseccomp.Arg(1, pyseccomp.EQ, command))
        elif name == "clone":
            none_of_them = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, CLONE_NEW, 0)
            filters.add_rule(pyseccomp.ALLOW, name, none_of_them)
        else:
            filters.add_rule(pyseccomp.ALLOW, name)
    with tempfile.TemporaryFile() as file:
        filters.export_bpf(file)
        file.seek(0)
        return file.read()
