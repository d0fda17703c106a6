"""Switches to the user of a worker's sandbox, then replaces itself with bubblewrap.

Runs as ``python -I launch.py PLAN``, with only the standard library. The new user may be unable to
read the environment's folder, for example in root's home. Therefore the folders are first bound to
/tmp/0, /tmp/1, ... in mounts that only this process sees.
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
    os.sched_setaffinity(0, {plan["core"]})  # The filter denies this call to student code.
    if plan["maps"]:
        enter_user_namespace(plan["maps"])
    if plan["user"] is not None:
        bind_folders(plan["folders"])
        become_user(plan["user"])
        for number, folder in enumerate(plan["folders"]):
            if not os.access(f"/tmp/{number}", os.R_OK | os.X_OK):
                sys.exit(f"Permission denied: the sandbox's user {plan['user']} at {folder}")
    # Not execvp, which imports modules: the user may be unable to read Python's library.
    os.execv(plan["command"][0], plan["command"])


def enter_user_namespace(maps):
    """Enter a namespace in which this process is root and the user to switch to exists."""
    ready, go = os.pipe()
    me = os.getpid()
    helper = os.fork()
    if not helper:
        os.close(go)
        os.read(ready, 1)  # Wait for the namespace, which the tools need.
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
