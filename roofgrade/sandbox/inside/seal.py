"""The walls around one submission, put up by the child itself before it sees a student's byte.

``enter_namespaces`` takes namespaces of its own, in which the next fork is process 1; ``seal_process`` mounts, limits
and gives everything up for good. Standard library alone. Both raise OSError where the kernel
refuses.
"""

import ctypes
import os
import resource
import struct

libc = ctypes.CDLL(None, use_errno=True)

# From the kernel's headers: sched.h, mount.h, prctl.h, capability.h, fcntl.h.
CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x2000000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_PRIVATE = 1, 2, 4, 8, 1 << 18
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 4, 22, 24, 28
PR_SET_NO_NEW_PRIVS = 38
# What of these there may be at once: each holds memory that no process shows. Terminals of the
# child, and connections that wait at one of its sockets, whose other ends may be closed.
TERMINALS, CONNECTIONS = 16, 16
SECCOMP_MODE_FILTER, SECUREBITS_ALL_LOCKED, CAPABILITY_VERSION_3 = 2, 0xEF, 0x20080522


def enter_namespaces():
    """Enter new namespaces of every kind, in which the user of this process is the only one."""
    uid, gid = os.getuid(), os.getgid()
    _call_libc(
        libc.unshare,
        CLONE_NEWUSER
        | CLONE_NEWPID
        | CLONE_NEWNS
        | CLONE_NEWIPC
        | CLONE_NEWNET
        | CLONE_NEWUTS
        | CLONE_NEWCGROUP,
    )
    _write_file("/proc/self/setgroups", "deny")
    _write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    _write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def seal_process(tmpfs: dict[str, int], limits: dict[str, int], filters: bytes):
    """Leave nothing to write on but ``tmpfs``, of so many bytes each; there is no way back.

    ``filters`` is a BPF program of the system calls that remain.
    """
    _write_file(
        "/proc/self/oom_score_adj", "1000"
    )  # the kernel's first choice when memory runs out
    _write_file("/proc/sys/user/max_user_namespaces", "0")  # no further ones below this one
    _write_file("/proc/sys/net/core/somaxconn", str(CONNECTIONS))
    _mount_all(tmpfs)
    set_limits(limits)
    _give_up_capabilities()
    _set_filter(filters)


def set_limits(limits: dict[str, int]):
    """Set the process's limits, by their names; none is made higher than it was."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def raise_limits():
    """Take back the bounds that the worker has set for itself and this process inherited."""
    for which in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA):
        soft, hard = resource.getrlimit(which)
        if soft != hard:
            resource.setrlimit(which, (hard, hard))


def set_dumpable(dumpable: bool):
    """Whether others of this user may trace this process and read its files in /proc."""
    _prctl(PR_SET_DUMPABLE, int(dumpable))


def _mount_all(tmpfs):
    attributes = struct.pack("4Q", MS_RDONLY | MS_NOSUID, 0, MS_PRIVATE, 0)
    _call_libc(
        libc.syscall,
        ctypes.c_long(SYS_MOUNT_SETATTR),
        ctypes.c_long(AT_FDCWD),
        b"/",
        ctypes.c_long(AT_RECURSIVE),
        attributes,
        ctypes.c_long(len(attributes)),
    )
    quiet = MS_NOSUID | MS_NOEXEC
    for path, size in tmpfs.items():
        _mount_one("tmpfs", path, quiet | MS_NODEV, f"size={size},nr_inodes=4096,mode=0700")
    _mount_one("devpts", "/dev/pts", quiet, f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}")
    _mount_one("proc", "/proc", quiet | MS_NODEV | MS_RDONLY, "subset=pid")


def _give_up_capabilities():
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (capability, 0, 0, 0))) < 0:
            break  # there are no more
    _prctl(PR_SET_SECUREBITS, SECUREBITS_ALL_LOCKED)
    _call_libc(libc.capset, struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24))
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _set_filter(program):
    held = ctypes.create_string_buffer(program, len(program))
    described = ctypes.create_string_buffer(
        struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(held))
    )
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(described))


def _mount_one(kind, path, flags, options):
    kind = kind.encode()
    _call_libc(libc.mount, kind, path.encode(), kind, ctypes.c_ulong(flags), options.encode())


def _prctl(option, *arguments):
    padded = (*arguments, 0, 0, 0, 0)[:4]
    _call_libc(libc.prctl, option, *map(ctypes.c_ulong, padded))


def _call_libc(function, *arguments):
    if function(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{function.__name__}: {os.strerror(number)}")


def _write_file(path, text):
    with open(path, "w") as file:
        file.write(text)
