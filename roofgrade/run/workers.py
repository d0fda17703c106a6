"""Worker processes on one machine: each marks one submission at a time, in one sandbox.

A worker that dies takes down nobody else's work: it is replaced. The submission that it worked on
is tried once more; if that fails, too, a person has to look. Each worker has a connection of its
own, which ends with it: concurrent.futures waits without end for the rest of a result whose sender
was killed.
"""

import contextlib
import ctypes
import itertools
import multiprocessing
import os
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path

from roofgrade.common import limits
from roofgrade.common.errors import MachineryError
from roofgrade.common.results import PERSON, Result
from roofgrade.common.sentences import words
from roofgrade.common.task import Task

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
        self._mark, self.box = mark, box

    def try_box(self):
        """Raises MachineryError if the sandbox cannot be started."""
        with self.box.open({}):
            pass

    def marked(self, task: Task) -> Result:
        """The result of a submission. Where the grader fails twice, a person has to look.

        Whoever makes it read for too long ends this process.
        """
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
        self._lanes = []

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
            for waiting in (False, True):  # they end side by side
                for lane in self._lanes:
                    lane.end(waiting)
        finally:
            self.__exit__()

    def one(self, task: Task) -> Result:
        """The result of a single task; the worker then waits for the next.

        Raises MachineryError if the sandbox cannot be started; the next task tries it anew.
        """
        self.start(1)
        try:
            [(_, result)] = self._rounds(iter([task]))
        except BaseException:
            self.__exit__()
            raise
        return result

    def _rounds(self, tasks):
        ahead = deque()  # for whichever worker has room first
        while True:
            for lane in self._lanes:
                while lane.has_room and (task := _next(ahead, tasks)):
                    lane.give(task)
            while len(self._lanes) < self._count and (task := next(tasks, None)):
                ahead.append(task)
                if len(ahead) > sum(not lane.ready for lane in self._lanes):
                    self.start(len(self._lanes) + 1)
            if not ahead:
                ahead.extend(itertools.islice(tasks, 1))
            if not ahead and not any(lane.given for lane in self._lanes):
                return
            asked = {lane.connection: lane for lane in self._lanes if lane.given or not lane.ready}
            for connection in wait([*asked]):
                if done := asked[connection].take():
                    yield done


def _next(ahead, tasks):
    return ahead.popleft() if ahead else next(tasks, None)


@dataclass(frozen=True)
class _Given:
    task: Task
    again: bool = False


class _Lane:
    """One worker process and what it has been given, in order: it works on the first."""

    def __init__(self, bench):
        self._bench, self.given, self._failed = bench, deque(), 0
        self._start()

    @property
    def has_room(self):
        return self.ready and len(self.given) < AHEAD

    def give(self, task):
        self.given.append(_Given(task))
        self._send(task)

    def take(self):
        """The first task with its result, or None where there is none yet.

        That is so if the sandbox was tried, or the worker died and the task is tried once more.
        Raises MachineryError if the sandbox cannot be started.
        """
        try:
            is_done, told = self.connection.recv()
        except (EOFError, OSError):
            return self._replaced()
        if not self.ready:
            if not is_done:
                raise told
            self.ready, self._failed = True, 0
            for each in self.given:
                self._send(each.task)
            return None
        task = self.given.popleft().task
        return task, told if is_done else unmarked(task, words("workers.failed", error=told))

    def end(self, waiting):
        """Let the worker end, and once ``waiting`` see that it has; one at its start is stopped."""
        if not self.ready:
            self._process.kill()
        self.connection.close()
        if waiting:
            self._process.join()

    def kill(self):
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _start(self):
        self.ready = False
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        with theirs:  # what the worker holds alone ends with it
            self._process = spawn.Process(target=_serve, args=(theirs, self._bench, os.getpid()))
            self._process.start()

    def _send(self, task):
        with contextlib.suppress(OSError):  # that it died is seen when it is asked for a result
            self.connection.send(task)

    def _replaced(self):
        """Start another worker in place of a dead one; the result of whom it died at twice."""
        self.kill()
        if not self.ready:
            self._failed += 1
        if self._failed == 2:
            raise MachineryError(words("workers.stopped_at_start"))
        died_at = self.given.popleft() if self.ready and self.given else None
        self._start()
        if died_at and died_at.again:
            return died_at.task, unmarked(died_at.task, words("workers.stopped_twice"))
        if died_at:
            self.given.appendleft(_Given(died_at.task, again=True))
        return None


# What follows runs in the worker process.


def _serve(connection, bench, coordinator):
    """Try the sandbox, then mark what comes, until the connection's other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PDEATHSIG, signal.SIGKILL)
        if os.getppid() != coordinator:
            os._exit(1)
    marker, tasks = bench.set_up(), queue.SimpleQueue()
    _tell(connection, marker.try_box)
    limits.confine()  # all is imported by now
    # The next task is read meanwhile, so that the coordinator need not wait to send it.
    threading.Thread(target=_read, args=(connection, tasks), daemon=True).start()
    while task := tasks.get():
        _tell(connection, marker.marked, task)
    marker.box.stop()
    os._exit(0)  # to take down all that is imported takes Python longer


def _read(connection, tasks):
    with contextlib.suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    tasks.put(None)


def _tell(connection, function, *arguments):
    """Send whether the function could do it, and what it returned or why not."""
    try:
        connection.send((True, function(*arguments)))
    except OSError:  # nobody is there to be told
        pass
    except MachineryError as error:
        connection.send((False, error))
    except Exception as error:  # such as a result that cannot be sent between processes
        connection.send((False, RuntimeError(f"{type(error).__name__}: {error}")))
