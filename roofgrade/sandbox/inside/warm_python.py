"""The warm Python: imports what notebooks import, then forks a child for each submission.

It contains no answers or questions, and shares nothing writable with its children: no descriptor,
no thread, no mapping.
"""

import asyncio
import base64
import contextlib
import fcntl
import gc
import os
import random
import signal
import socket
import sys
import tempfile
import traceback
from pathlib import Path

import anywidget  # noqa: F401  imported here, so that no child has to
import ipywidgets  # noqa: F401
import matplotlib
import matplotlib.pyplot as plt
import numpy as np

import rooflab.explore  # noqa: F401
from roofgrade.sandbox.inside import seal
from roofgrade.sandbox.inside.channel import Channel
from roofgrade.sandbox.inside.notebook import Notebook, ignore_interrupts
from roofgrade.sandbox.inside.recorder import Recorder, Stream
from roofgrade.sandbox.inside.shell import make_shell

CHANNEL_DESCRIPTOR = 3
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")
# Running these cells fills the caches that notebooks usually need.
USUAL_CELLS = Path(__file__).with_name("usual_cells.txt").read_text().rstrip().split("\n---\n")


def main(descriptor: int):
    """Serve the worker at the other end of ``descriptor`` until it disconnects."""
    control = Channel(socket.socket(fileno=descriptor))
    setup = control.receive()
    recorder = Recorder()
    shell = make_shell(recorder)
    _run_usual_cells(shell, recorder)
    ignore_interrupts()
    _close_loops()
    gc.collect()
    gc.freeze()
    with contextlib.suppress(EOFError):
        if setup["walls"]:
            fonts = {n: path for n, path in _list_descriptors() if path.endswith((".ttf", ".otf"))}
            control.send(_find_shared(keep={descriptor, *fonts}))
            seal.set_dumpable(False)
            while True:
                _fork_sealed(control, setup, fonts, shell, recorder)
        control.send({})
        while True:
            _fork_unsandboxed(control, setup, shell, recorder)


def _run_usual_cells(shell, recorder):
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Stream(recorder, 1), Stream(recorder, 2)
    settings = dict(matplotlib.rcParams)
    docstring = shell.user_module.__doc__
    for source in USUAL_CELLS:
        cell = shell.transform_cell(source) if "= =" not in source else source
        asyncio.run(shell.run_cell_async(source, store_history=True, transformed_cell=cell))
    plt.close("all")
    matplotlib.rcParams.update(settings)
    shell.reset(new_session=True)
    shell.execution_count = 1
    shell.user_module.__doc__ = docstring
    recorder.begin_cell()
    sys.stdout, sys.stderr = streams


def _close_loops():
    """Close the event loops, since all children would share their epoll objects."""
    for thing in gc.get_objects():
        if isinstance(thing, asyncio.BaseEventLoop) and not thing.is_closed():
            thing.close()


def _list_descriptors():
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            yield int(name), os.readlink(f"/proc/self/fd/{name}")


def _find_shared(keep) -> dict:
    """Return what a child would share with this process, and this process's namespaces."""
    descriptors = {number for number, _ in _list_descriptors()}
    maps = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    return {
        "descriptors": sorted(descriptors - {0, 1, 2} - set(keep)),
        "shared": [line for line in maps if line[1][1] == "w" and line[1][3] == "s"],
        "threads": len(os.listdir("/proc/self/task")),
        "namespaces": {kind: os.stat(f"/proc/self/ns/{kind}").st_ino for kind in NAMESPACES},
    }


def _fork_sealed(control, setup, fonts, shell, recorder):
    """Fork a child that is process 1 of its own namespaces, and send its pidfd to the worker."""
    job, connection = control.receive_descriptor()
    middle = os.fork()
    if middle:
        os.close(connection)
        os.waitpid(middle, 0)
        return
    try:
        seal.set_dumpable(True)
        seal.enter_namespaces()
        child = os.fork()
        if child:
            control.send({}, [os.pidfd_open(child)])
            os._exit(0)
    except BaseException:
        control.send({"failed": traceback.format_exc()})
        os._exit(1)
    walls = setup["walls"]

    def close_off():
        os.dup2(connection, CHANNEL_DESCRIPTOR)
        _close_descriptors(fonts)
        os.setsid()  # Otherwise a signal to process group 0 would reach the warm Python.
        seal.seal_process(walls["tmpfs"], setup["limits"], base64.b64decode(walls["filters"]))

    _run_child(close_off, lambda: socket.socket(fileno=CHANNEL_DESCRIPTOR), job, shell, recorder)


def _fork_unsandboxed(control, setup, shell, recorder):
    """Fork a child without walls, which is reaped after the worker has killed its group."""
    job, descriptor = control.receive_descriptor()
    connection = socket.socket(fileno=descriptor)
    child = os.fork()
    if child:
        connection.close()
        control.send({"pid": child})
        try:
            control.receive()
        except EOFError:  # The worker is gone, so end its child, too.
            os.killpg(child, signal.SIGKILL)
            raise
        os.waitpid(child, 0)
        control.send({})
        return

    def close_off():
        os.setsid()
        control.connection.close()
        seal.set_limits(setup["limits"])

    _run_child(close_off, lambda: connection, job, shell, recorder)


def _close_descriptors(fonts):
    """Close all descriptors of the warm Python, and reopen the fonts under the same numbers."""
    os.closerange(CHANNEL_DESCRIPTOR + 1, 1 << 12)
    for descriptor, path in fonts.items():
        opened = os.open(path, os.O_RDONLY)
        if opened != descriptor:
            os.dup2(opened, descriptor)
            os.close(opened)


def _run_child(close_off, connect, job, shell, recorder):
    channel = None
    try:
        try:
            close_off()
        finally:  # Open the channel in any case, to report errors.
            channel = Channel(connect())
        _prepare_home(job["home"], recorder)
        channel.send({"sealed": True})
        # The worker checks the walls before it sends the files.
        for name, content in channel.receive()["files"].items():
            path = Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(base64.b64decode(content))
        channel.send({"settled": True})
        sys.stdout, sys.stderr = Stream(recorder, 1), Stream(recorder, 2)
        random.seed()
        np.random.seed()
        asyncio.run(Notebook(shell, recorder, channel).serve())
    except BaseException:
        if channel:
            with contextlib.suppress(Exception):
                channel.send({"failed": traceback.format_exc()[-4000:]})
    finally:
        os._exit(1)


def _prepare_home(home, recorder):
    """Give the child a home, no input, and files for output that bypasses sys.stdout and stderr."""
    os.environ["HOME"] = home
    os.chdir(home)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for descriptor in (1, 2):
        with tempfile.TemporaryFile(dir=home, buffering=0) as file:
            os.dup2(file.fileno(), descriptor)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)
    recorder.owns_descriptors = True
