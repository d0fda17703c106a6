"""Seals a submission's process from the inside, before it receives student code.

``enter_namespaces`` enters new namespaces, in which the next fork is process 1. ``seal_process``
mounts folders, sets limits and gives up all privileges for good. Both raise OSError if the kernel
refuses, and use only the standard library.
"""

import ctypes
import os
import resource
import struct

libc = ctypes.CDLL(None, use_errno=True)

# From the kernel's headers: sched.h, mount.h, prctl.h, capability.h, fcntl.h.
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET together.
NEW_NAMESPACES = 0x7E020000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_PRIVATE = 1, 2, 4, 8, 1 << 18
SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE = 442, -100, 0x8000
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_SECUREBITS = 4, 22, 24, 28
PR_SET_NO_NEW_PRIVS = 38
# The maximum numbers of terminals and of waiting connections per socket. Both use kernel memory
# that no process's statistics include.
TERMINALS, CONNECTIONS = 16, 16
SECCOMP_MODE_FILTER, SECUREBITS_ALL_LOCKED, CAPABILITY_VERSION_3 = 2, 0xEF, 0x20080522


def enter_namespaces():
    """Enter new namespaces of every kind, with the current user as their only user."""
    uid, gid = os.getuid(), os.getgid()
    _call_libc(libc.unshare, NEW_NAMESPACES)
    _write_file("/proc/self/setgroups", "deny")
    _write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    _write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def seal_process(tmpfs: dict[str, int], limits: dict[str, int], filters: bytes):
    """Seal this process for good. Only the ``tmpfs`` folders, given by size in bytes, are writable.

    ``filters`` is a BPF program that denies system calls.
    """
    # If memory runs out, the kernel must kill this process first.
    _write_file("/proc/self/oom_score_adj", "1000")
    _write_file("/proc/sys/user/max_user_namespaces", "0")  # no further namespaces inside
    _write_file("/proc/sys/net/core/somaxconn", str(CONNECTIONS))
    _mount_all(tmpfs)
    set_limits(limits)
    _give_up_capabilities()
    _set_filter(filters)


def set_limits(limits: dict[str, int]):
    """Set the process's limits, by name, without raising any of them."""
    for name, value in limits.items():
        which = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(which)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (value, value))


def raise_limits():
    """Lift the limits that the worker set for itself and that this process inherited."""
    for which in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_DATA):
        soft, hard = resource.getrlimit(which)
        if soft != hard:
            resource.setrlimit(which, (hard, hard))


def set_dumpable(dumpable: bool):
    """Set whether the user's other processes may trace this one and read its files in /proc."""
    _prctl(PR_SET_DUMPABLE, int(dumpable))


def _mount_all(tmpfs):
    number, root, recursive = map(ctypes.c_long, (SYS_MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE))
    attributes = struct.pack("4Q", MS_RDONLY | MS_NOSUID, 0, MS_PRIVATE, 0)
    size = ctypes.c_long(len(attributes))
    _call_libc(libc.syscall, number, root, b"/", recursive, attributes, size)
    quiet = MS_NOSUID | MS_NOEXEC
    for path, size in tmpfs.items():
        _mount_one("tmpfs", path, quiet | MS_NODEV, f"size={size},nr_inodes=4096,mode=0700")
    _mount_one("devpts", "/dev/pts", quiet, f"newinstance,ptmxmode=0666,mode=620,max={TERMINALS}")
    _mount_one("proc", "/proc", quiet | MS_NODEV | MS_RDONLY, "subset=pid")


def _give_up_capabilities():
    for capability in range(64):
        if libc.prctl(PR_CAPBSET_DROP, *map(ctypes.c_ulong, (capability, 0, 0, 0))) < 0:
            break  # There are no more capabilities.
    _prctl(PR_SET_SECUREBITS, SECUREBITS_ALL_LOCKED)
    _call_libc(libc.capset, struct.pack("Ii", CAPABILITY_VERSION_3, 0), bytes(24))
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _set_filter(program):
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    sock_fprog = ctypes.create_string_buffer(header)
    _prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.addressof(sock_fprog))


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
