"""Worker processes on this machine: each marks one submission at a time, in one sandbox.

A worker that dies takes down nobody else's work: it is replaced. The submission that it worked on
is tried once more; if that fails, too, a person has to look.
"""

import atexit
import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

from roofgrade import limits
from roofgrade.errors import MachineryError
from roofgrade.results import PERSON, Result
from roofgrade.task import Task
from roofgrade.text import words

# A worker is given so many submissions at a time, and need not wait for the next one.
AHEAD = 2
PDEATHSIG = 1


@dataclass(frozen=True)
class Bench:
    """How submissions are marked: by which function, in which kind of sandbox.

    ``private`` are the folders and files that no sandbox may show.
    """

    mark: Callable
    box: Callable
    unsandboxed: bool
    private: tuple[Path, ...] = ()

    def set_up(self) -> "Marker":
        """A Marker, for the life of a process."""
        return Marker(self.mark, self.box(unsandboxed=self.unsandboxed, private=self.private))


class Marker:
    """Marks submissions one at a time, in one box."""

    def __init__(self, mark, box):
        self._mark, self.box, self._turn = mark, box, threading.Lock()

    def try_box(self):
        """Raises MachineryError if the sandbox cannot be started."""
        with self._turn, self.box.open({}):
            pass

    def marked(self, task: Task) -> Result:
        """The result of a submission. Where the grader fails twice, a person has to look.

        Whoever makes it read for too long ends this process.
        """
        with self._turn:
            for _ in range(2):
                try:
                    with limits.clock():
                        return self._mark(task, self.box)
                except MachineryError as error:
                    failed = words("workers.failed_twice", error=error)
                    self.box.stop()  # the next one is fresh
                except MemoryError:
                    failed = words("workers.too_much")
                    self.box.stop()
                    break
                except Exception as error:
                    failed = words("workers.failed", error=f"{type(error).__name__}: {error}")
                    self.box.stop()
                    break
            return unmarked(task, failed)


def unmarked(task: Task, reason: str) -> Result:
    """The result of a submission that could not be marked. It has no key: it is tried again."""
    return Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=PERSON,
        reason=reason[:500], remarks=task.remarks, submitted=task.submitted,
    )  # fmt: skip


class Workers:
    """``count`` worker processes, started when there is something to mark."""

    def __init__(self, bench: Bench, count: int):
        self._bench, self._count = bench, count

    def marked(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Each task with its result, in the order in which they get done.

        Tasks are taken when there is room for them. Raises MachineryError, before anything is
        marked, if the sandbox cannot be started.
        """
        tasks = iter(tasks)
        first = next(tasks, None)
        if first is None:
            return
        lanes = [_Lane(self._bench) for _ in range(self._count)]
        try:
            for lane in lanes:
                lane.wait()
            lanes[0].give(first)
            yield from self._rounds(lanes, tasks)
        except BaseException:
            for lane in lanes:
                lane.kill()
            raise
        for lane in lanes:
            lane.end()

    def _rounds(self, lanes, tasks):
        while True:
            for lane in lanes:
                while lane.room and (task := next(tasks, None)) is not None:
                    lane.give(task)
            busy = {lane.first: lane for lane in lanes if lane.first}
            if not busy:
                return
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                if done := busy[future].take():
                    yield done


@dataclass(frozen=True)
class _Given:
    task: Task
    future: Future
    again: bool


class _Lane:
    """One worker process and what it has been given, in order: it works on the first."""

    def __init__(self, bench):
        self._bench, self._given = bench, deque()
        self._start()

    @property
    def room(self):
        return len(self._given) < AHEAD

    @property
    def first(self):
        return self._given[0].future if self._given else None

    def wait(self):
        """Wait until the sandbox has been tried."""
        for _ in range(2):
            try:
                return self._ask(_try_box).result()
            except BrokenProcessPool:
                self._start()
        raise MachineryError(words("workers.stopped_at_start"))

    def give(self, task, again=False):
        self._given.append(_Given(task, self._ask(_mark, task), again))

    def take(self):
        """The first task with its result, or None if the worker died and it is tried once more."""
        given = self._given.popleft()
        try:
            return given.task, given.future.result()
        except BrokenProcessPool:
            self._start(given)
        except Exception as error:  # such as a result that cannot be sent between processes
            return given.task, unmarked(given.task, words("workers.failed", error=error))
        if given.again:
            return given.task, unmarked(given.task, words("workers.stopped_twice"))
        return None

    def end(self):
        self._pool.shutdown()

    def kill(self):
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            if self._pid.done() and process.pid == self._pid.result():
                process.kill()

    def _start(self, died_at=None):
        """Start a worker for what the last one was given and had not begun."""
        self._pool = ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), _begin, (self._bench, os.getpid())
        )
        self._pid = self._ask(os.getpid)
        given, self._given = self._given, deque()
        if died_at and not died_at.again:
            self.give(died_at.task, again=True)
        for each in given:
            self.give(each.task, each.again)

    def _ask(self, function, *arguments):
        try:
            return self._pool.submit(function, *arguments)
        except BrokenProcessPool as error:  # the worker died while it had nothing to do
            broken = Future()
            broken.set_exception(error)
            return broken


# What follows runs in the worker process.

_marker: Marker


def _begin(bench, coordinator):
    global _marker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
        if os.getppid() != coordinator:
            os._exit(1)
    _marker = bench.set_up()
    atexit.register(_marker.box.stop)


def _try_box():
    _marker.try_box()
    limits.confine()  # all is imported by now


def _mark(task):
    return _marker.marked(task)
