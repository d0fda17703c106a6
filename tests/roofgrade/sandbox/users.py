"""Run a program as an ordinary user, from root, whatever folders are closed to that user."""

import contextlib
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What stands in for newuidmap and newgidmap, which only their own package can install: it asks the
# test, which is root, to write the map.
STAND_IN = '#!/bin/sh\necho "${0##*/}" "$@" > {folder}/ask\nread done < {folder}/told\n'
RANGE = """
from roofgrade.sandbox import identity
identity.TOOLS = dict.fromkeys(identity.TOOLS, {path!r})
"""


def run_as(user, program, subuids=None):
    """What ``program`` prints as ``user``, an id that need not have an account.

    ``subuids``, as (first, count), are given to the user; then newuidmap works for it.
    """
    with tempfile.TemporaryDirectory(dir="/tmp") as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        folder.chmod(0o755)
        lines = list(_opened(folder))
        if subuids:
            stack.enter_context(_maps(folder))
            (folder / "ids").write_text("{}:{}:{}\n".format(user, *subuids))
            program = RANGE.format(path=str(folder / "ids")) + program
        (folder / "program.py").write_text(program)
        lines.append(
            f"exec setpriv --reuid {user} --regid {user} --clear-groups env HOME=/tmp "
            f"PATH={folder}/tools:$PATH PYTHONPATH={shlex.quote(str(ROOT))} "
            f"{shlex.quote(sys.executable)} -B {folder}/program.py"
        )
        done = subprocess.run(
            ["unshare", "-m", "sh", "-ec", "\n".join(lines)], capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _opened(folder):
    """Shell commands that let a user through closed folders, to nothing but what is needed."""
    needed = [Path(path) for path in {sys.base_prefix, sys.prefix, str(ROOT)}]
    closed = {parent for path in needed for parent in path.parents if not _is_open(parent)}
    hidden = [path for path in needed if closed & set(path.parents)]
    yield f"mount -t tmpfs none {folder}/stage" if hidden else "true"
    (folder / "stage").mkdir()
    for number, path in enumerate(hidden):
        yield f"mkdir {folder}/stage/{number}"
        yield f"mount --bind {shlex.quote(str(path))} {folder}/stage/{number}"
    for path in closed:
        if not closed & set(path.parents):
            yield f"mount -t tmpfs -o mode=755 none {shlex.quote(str(path))}"
    for number, path in enumerate(hidden):
        yield f"mkdir -p {shlex.quote(str(path))}"
        yield f"mount --move {folder}/stage/{number} {shlex.quote(str(path))}"


def _is_open(folder):
    return folder.stat().st_mode & 0o005 == 0o005


@contextlib.contextmanager
def _maps(folder):
    (folder / "tools").mkdir()
    for tool in ("newuidmap", "newgidmap"):
        path = folder / "tools" / tool
        path.write_text(STAND_IN.replace("{folder}", str(folder)))
        path.chmod(0o755)
    for pipe in ("ask", "told"):
        os.mkfifo(folder / pipe)
        (folder / pipe).chmod(0o666)
    server = threading.Thread(target=_serve, args=(folder,))
    server.start()
    try:
        yield
    finally:
        (folder / "ask").write_text("stop\n")
        server.join()


def _serve(folder):
    while True:
        tool, *words = (folder / "ask").read_text().split()
        if tool == "stop":
            return
        pid, *numbers = words
        rows = [" ".join(numbers[at : at + 3]) for at in range(0, len(numbers), 3)]
        kind = {"newuidmap": "uid_map", "newgidmap": "gid_map"}[tool]
        Path(f"/proc/{pid}/{kind}").write_text("\n".join(rows))
        (folder / "told").write_text("done\n")
