"""Becomes the user that a worker's sandbox runs as, then bubblewrap.

Run as ``python -I launch.py PLAN``, standard library alone. That user may be kept from reading
where the environment lies, such as root's home, so the folders are bound into /tmp first, in mounts
that this process alone sees: the first of them is /tmp/0.
"""

import ctypes
import json
import os
import sys

libc = ctypes.CDLL(None, use_errno=True)

# From the kernel's headers: sched.h, mount.h.
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18


def main(plan):
    os.sched_setaffinity(0, {plan["core"]})  # students' code may not call this
    if plan["maps"]:
        enter_user_namespace(plan["maps"])
    if plan["user"] is not None:
        bind_folders(plan["folders"])
        become_user(plan["user"])
        for number, folder in enumerate(plan["folders"]):
            if not os.access(f"/tmp/{number}", os.R_OK | os.X_OK):
                sys.exit(f"Permission denied: the sandbox's user {plan['user']} at {folder}")
    # Not execvp: it imports, and this user may not read Python's own library.
    os.execv(plan["command"][0], plan["command"])


def enter_user_namespace(maps):
    """Enter a namespace in which this process is root, and the user to become exists."""
    ready, go = os.pipe()
    me = os.getpid()
    helper = os.fork()
    if not helper:
        os.close(go)
        os.read(ready, 1)  # the tools need the namespace
        done = [os.spawnvp(os.P_WAIT, tool, [tool, str(me), *maps[tool]]) for tool in maps]
        os._exit(any(done))
    call_libc("unshare", CLONE_NEWUSER)
    os.write(go, b".")
    os.close(ready)
    os.close(go)
    if os.waitpid(helper, 0)[1]:
        sys.exit(f"{' and '.join(maps)} failed")


def bind_folders(folders):
    call_libc("unshare", CLONE_NEWNS)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    handles = [os.open(folder, os.O_PATH) for folder in folders]
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=64k")
    for number, handle in enumerate(handles):
        os.mkdir(f"/tmp/{number}", 0o755)
        mount(f"/proc/self/fd/{handle}", f"/tmp/{number}", None, MS_BIND | MS_REC)
        os.close(handle)


def become_user(user):
    os.chdir("/")
    os.umask(0o077)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def mount(source, target, kind, flags, options=None):
    texts = [text and text.encode() for text in (source, target, kind, options)]
    call_libc("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])


def call_libc(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        sys.exit(f"{name}: {os.strerror(ctypes.get_errno())}")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
