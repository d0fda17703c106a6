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
    """``count`` worker processes, started when there is something to mark; a context manager."""

    def __init__(self, bench: Bench, count: int):
        self._bench, self._count, self._lanes = bench, count, []

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error):
        for lane in self._lanes:
            lane.kill()

    def start(self, tasks: int):
        """Start as many as so many tasks need: they get ready while the caller does."""
        while len(self._lanes) < min(tasks, self._count):
            self._lanes.append(_Lane(self._bench))

    def marked(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Each task with its result, in the order in which they get done.

        Tasks are taken when there is room for them. Raises MachineryError if a sandbox cannot be
        started; the worker concerned has marked nothing then.
        """
        try:
            yield from self._rounds(iter(tasks))
        except BaseException:
            self.__exit__()
            raise
        for waiting in (False, True):  # they end side by side
            for lane in self._lanes:
                lane.end(waiting)
        self._lanes = []

    def _rounds(self, tasks):
        while True:
            for lane in self._lanes:
                while lane.room and (task := next(tasks, None)) is not None:
                    lane.give(task)
            while len(self._lanes) < self._count and (task := next(tasks, None)) is not None:
                self.start(len(self._lanes) + 1)
                self._lanes[-1].give(task)
            busy = {lane.first: lane for lane in self._lanes if lane.first}
            if not busy:
                return
            for future in wait(busy, return_when=FIRST_COMPLETED).done:
                if done := busy[future].take():
                    yield done


@dataclass(frozen=True)
class _Given:
    task: Task | None  # None for the trial of the sandbox
    future: Future
    again: bool


class _Lane:
    """One worker process and what it has been given, in order: it works on the first."""

    def __init__(self, bench):
        self._bench, self._given = bench, deque()
        self._start()
        self.give(None)

    @property
    def room(self):
        return len(self._given) < AHEAD

    @property
    def first(self):
        return self._given[0].future if self._given else None

    def give(self, task, again=False):
        future = self._ask(_mark, task) if task else self._ask(_try_box)
        self._given.append(_Given(task, future, again))

    def take(self):
        """The first task with its result, or None where there is none yet.

        That is so if it was the trial of the sandbox, or the worker died and it is tried once more.
        Raises MachineryError if the sandbox cannot be started.
        """
        given = self._given.popleft()
        try:
            result = given.future.result()
            return (given.task, result) if given.task else None
        except BrokenProcessPool:
            self._start(given)
        except Exception as error:  # such as a result that cannot be sent between processes
            if not given.task:
                raise
            return given.task, unmarked(given.task, words("workers.failed", error=error))
        if not given.again:
            return None
        if not given.task:
            raise MachineryError(words("workers.stopped_at_start"))
        return given.task, unmarked(given.task, words("workers.stopped_twice"))

    def end(self, waiting):
        self._pool.shutdown(waiting)

    def kill(self):
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in self._processes:
            process.kill()

    def _start(self, died_at=None):
        """Start a worker for what the last one was given and had not begun."""
        self._pool = ProcessPoolExecutor(
            1, multiprocessing.get_context("spawn"), _begin, (self._bench, os.getpid())
        )
        others = multiprocessing.active_children()
        self._ask(os.getpid)  # the pool starts its process when it has something to do
        self._processes = [one for one in multiprocessing.active_children() if one not in others]
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
    atexit.register(_end)


def _end():
    """Leave at once: to take down all that is imported takes Python longer than to stop the box."""
    _marker.box.stop()
    os._exit(0)


def _try_box():
    _marker.try_box()
    limits.confine()  # all is imported by now


def _mark(task):
    return _marker.marked(task)
