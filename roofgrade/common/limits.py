"""Limits the memory and CPU time of code that reads student data outside the sandbox.

The data is never executed here, but a student can make it take gigabytes or hours to read, with a
million empty lists or a line that makes a parser backtrack. Time limits are in CPU time, so a busy
machine makes no difference.
"""

import contextlib
import gc
import multiprocessing
import os
import pickle
import re
import resource
import signal
from pathlib import Path

# Ordinary submissions need a twentieth of each limit.
MEMORY_ROOM = 384 << 20  # bytes on top of the process's initial use
SECONDS = 20.0
LARGEST_RESULT = 64 << 20  # bytes that a forked process may return
# Even on a very busy machine, a process gets a twentieth of the time.
WAIT_SECONDS = 20 * SECONDS


class LimitExceededError(Exception):
    """Reading a student's work exceeded the memory or time limit."""


def limit_process_memory(room: int = MEMORY_ROOM):
    """Make this process raise MemoryError if it allocates more than ``room`` further bytes.

    Does nothing outside Linux, the only system that reports and limits this memory.
    """
    status = Path("/proc/self/status")
    used = re.search(r"^VmData:\s+(\d+) kB", status.read_text(), re.M) if status.exists() else None
    if used:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = 1024 * int(used[1]) + room
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


@contextlib.contextmanager
def limit_process_time(seconds: float = SECONDS):
    """End this process if the block takes more than ``seconds`` of CPU time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def call_in_fork(function, *arguments, room: int = MEMORY_ROOM, seconds: float = SECONDS):
    """Call a function in a forked process, limited to ``room`` bytes and ``seconds`` of CPU time.

    Raises LimitExceededError if the call exceeds a limit, and any error that the function raises.
    """
    ours, theirs = multiprocessing.Pipe(duplex=False)
    pid, packed = os.fork(), None
    if pid == 0:
        _send_result(theirs, function, arguments, room, seconds)
    theirs.close()
    try:
        # A crash or too long a result closes the pipe or raises OSError.
        with ours, contextlib.suppress(EOFError, OSError):
            packed = ours.recv_bytes(LARGEST_RESULT) if ours.poll(WAIT_SECONDS) else None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if packed is None:
        raise LimitExceededError
    has_returned, result = pickle.loads(packed)
    if not has_returned:
        raise result
    return result


def _send_result(pipe, function, arguments, room, seconds):
    code = 1
    try:
        gc.freeze()  # Garbage collection would touch, and so copy, all of the parent's objects.
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        limit_process_memory(room)
        with limit_process_time(seconds):
            try:
                result = True, function(*arguments)
            except MemoryError:
                return
            except Exception as error:
                result = False, error
            packed = pickle.dumps(result)
        pipe.send_bytes(packed)
        code = 0
    finally:
        os._exit(code)
