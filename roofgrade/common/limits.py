"""Bounds for what reads a student's words outside the sandbox: its memory, and a clock of its own.

Those words are data here, and nothing of them runs. But data can be made so that reading it takes
gigabytes or hours: a million empty lists, or a line that a parser tries in all ways. The clock
counts a process's own work, so that a busy machine takes nothing away from anybody.
"""

import contextlib
import gc
import os
import pickle
import re
import resource
import select
import signal
import time
from pathlib import Path

# Honest work takes a twentieth of each.
MEMORY_ROOM = 384 << 20  # bytes beyond what a process holds before it begins
SECONDS = 20.0
LARGEST_RESULT = 64 << 20  # bytes of what one process hands to another
# A machine that is busy beyond measure gives a process less than a twentieth of its time.
WAIT_SECONDS = 20 * SECONDS


class LimitExceededError(Exception):
    """Reading what a student wrote took more memory or time than is allowed."""


def limit_memory(room: int = MEMORY_ROOM):
    """From now on, raise MemoryError where this process asks for more than ``room`` more bytes.

    It has no effect but on Linux, which alone tells what a process holds and keeps such a limit.
    """
    status = Path("/proc/self/status")
    held = re.search(r"^VmData:\s+(\d+) kB", status.read_text(), re.M) if status.exists() else None
    if held:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = 1024 * int(held[1]) + room
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def limit_time(seconds: float = SECONDS):
    """End this process, whatever it does, if it works longer than ``seconds`` on the block."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def call_in_fork(function, *arguments, room: int = MEMORY_ROOM, seconds: float = SECONDS):
    """What the function returns, found in a process of its own within ``room`` and ``seconds``.

    Raises TooMuchError where it exceeds them, and what the function raises.
    """
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _send_result(theirs, function, arguments, room, seconds)
    os.close(theirs)
    try:
        told = _receive_result(ours)
    finally:
        os.close(ours)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if told is None:
        raise LimitExceededError
    done, found = pickle.loads(told)
    if not done:
        raise found
    return found


def _send_result(pipe, function, arguments, room, seconds):
    """Write what the function returns or raises into the pipe, and end this process."""
    code = 1
    try:
        gc.freeze()  # a collection that looks at the parent's objects would copy all their memory
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        limit_memory(room)
        with limit_time(seconds):
            try:
                told = True, function(*arguments)
            except MemoryError:
                return
            except Exception as error:
                told = False, error
            packed = pickle.dumps(told)
        with open(pipe, "wb", closefd=False) as file:
            file.write(len(packed).to_bytes(8) + packed)
        code = 0
    finally:
        os._exit(code)


def _receive_result(pipe):
    """All that comes through the pipe, or None if it is cut short, too long or too late."""
    data, until = bytearray(), time.monotonic() + WAIT_SECONDS
    while len(data) <= LARGEST_RESULT:
        if not select.select([pipe], [], [], max(0, until - time.monotonic()))[0]:
            return None
        piece = os.read(pipe, 1 << 20)
        if not piece:
            whole = len(data) >= 8 and len(data) == 8 + int.from_bytes(data[:8])
            return bytes(data[8:]) if whole else None
        data += piece
    return None
