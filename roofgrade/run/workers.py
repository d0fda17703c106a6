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
from roofgrade.common.marking_task import Task
from roofgrade.common.results import WAITING, Result
from roofgrade.common.sentences import sentence

# A worker is given so many submissions at a time, and need not wait for the next one.
TASKS_AHEAD = 2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class MarkingSetup:
    """How submissions are marked: by which function, in which kind of sandbox.

    ``private`` are the folders and files that no sandbox may show.
    """

    mark: Callable
    box: Callable
    unsandboxed: bool
    private: tuple[Path, ...] = ()

    def make_marker(self) -> "SubmissionMarker":
        """A Marker, for the life of a process."""
        return SubmissionMarker(
            self.mark, self.box(unsandboxed=self.unsandboxed, private=self.private)
        )


class SubmissionMarker:
    """Marks submissions one at a time, in one box."""

    def __init__(self, mark, box):
        self._mark, self.box = mark, box

    def check_box(self):
        """Raises MachineryError if the sandbox cannot be started."""
        with self.box.open({}):
            pass

    def mark(self, task: Task) -> Result:
        """The result of a submission. Where the grader fails twice, a person has to look.

        Whoever makes it read for too long ends this process.
        """
        for _ in range(2):
            try:
                with limits.limit_time():
                    return self._mark(task, self.box)
            except MachineryError as error:
                failed = sentence("workers.failed_twice", error=error)
                self.box.stop()  # the next one is fresh
            except MemoryError:
                failed = sentence("workers.too_much")
                self.box.stop()
                break
            except Exception as error:
                failed = sentence("workers.failed", error=f"{type(error).__name__}: {error}")
                self.box.stop()
                break
        return make_failed_result(task, failed)


def make_failed_result(task: Task, reason: str) -> Result:
    """The result of a submission that could not be marked. It has no key: it is tried again."""
    return Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=WAITING,
        reason=reason[:500], remarks=task.remarks, submitted=task.submitted,
    )  # fmt: skip


class Workers:
    """``count`` worker processes, started when there is something to mark; a context manager."""

    def __init__(self, bench: MarkingSetup, count: int):
        self._bench, self._count, self._processes = bench, count, []

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error):
        for lane in self._processes:
            lane.kill()
        self._processes = []

    def start(self, tasks: int):
        """Start as many as so many tasks need: they get ready while the caller does."""
        while len(self._processes) < min(tasks, self._count):
            self._processes.append(_WorkerProcess(self._bench))

    def mark_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Each task with its result, in the order in which they get done.

        Tasks are taken when there is room for them. Raises MachineryError if a sandbox cannot be
        started; the worker concerned has marked nothing then.
        """
        try:
            yield from self._mark_tasks(iter(tasks))
            for waiting in (False, True):  # they end side by side
                for lane in self._processes:
                    lane.finish(waiting)
        finally:
            self.__exit__()

    def mark_one(self, task: Task) -> Result:
        """The result of a single task; the worker then waits for the next.

        Raises MachineryError if the sandbox cannot be started; the next task tries it anew.
        """
        self.start(1)
        try:
            [(_, result)] = self._mark_tasks(iter([task]))
        except BaseException:
            self.__exit__()
            raise
        return result

    def _mark_tasks(self, tasks):
        ahead = deque()  # for whichever worker has room first
        while True:
            for lane in self._processes:
                while lane.has_room and (task := _next_task(ahead, tasks)):
                    lane.assign(task)
            while len(self._processes) < self._count and (task := next(tasks, None)):
                ahead.append(task)
                if len(ahead) > sum(not lane.is_ready for lane in self._processes):
                    self.start(len(self._processes) + 1)
            if not ahead:
                ahead.extend(itertools.islice(tasks, 1))
            if not ahead and not any(lane.assigned for lane in self._processes):
                return
            asked = {
                lane.connection: lane
                for lane in self._processes
                if lane.assigned or not lane.is_ready
            }
            for connection in wait([*asked]):
                if done := asked[connection].receive():
                    yield done


def _next_task(ahead, tasks):
    return ahead.popleft() if ahead else next(tasks, None)


@dataclass(frozen=True)
class _AssignedTask:
    task: Task
    is_second_try: bool = False


class _WorkerProcess:
    """One worker process and what it has been given, in order: it works on the first."""

    def __init__(self, bench):
        self._bench, self.assigned, self._failed_starts = bench, deque(), 0
        self._start()

    @property
    def has_room(self):
        return self.is_ready and len(self.assigned) < TASKS_AHEAD

    def assign(self, task):
        self.assigned.append(_AssignedTask(task))
        self._send(task)

    def receive(self):
        """The first task with its result, or None where there is none yet.

        That is so if the sandbox was tried, or the worker died and the task is tried once more.
        Raises MachineryError if the sandbox cannot be started.
        """
        try:
            is_done, told = self.connection.recv()
        except (EOFError, OSError):
            return self._replace_process()
        if not self.is_ready:
            if not is_done:
                raise told
            self.is_ready, self._failed_starts = True, 0
            for each in self.assigned:
                self._send(each.task)
            return None
        task = self.assigned.popleft().task
        return task, told if is_done else make_failed_result(
            task, sentence("workers.failed", error=told)
        )

    def finish(self, waiting):
        """Let the worker end, and once ``waiting`` see that it has; one at its start is stopped."""
        if not self.is_ready:
            self._process.kill()
        self.connection.close()
        if waiting:
            self._process.join()

    def kill(self):
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _start(self):
        self.is_ready = False
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        with theirs:  # what the worker holds alone ends with it
            self._process = spawn.Process(
                target=_serve_tasks, args=(theirs, self._bench, os.getpid())
            )
            self._process.start()

    def _send(self, task):
        with contextlib.suppress(OSError):  # that it died is seen when it is asked for a result
            self.connection.send(task)

    def _replace_process(self):
        """Start another worker in place of a dead one; the result of whom it died at twice."""
        self.kill()
        if not self.is_ready:
            self._failed_starts += 1
        if self._failed_starts == 2:
            raise MachineryError(sentence("workers.stopped_at_start"))
        died_at = self.assigned.popleft() if self.is_ready and self.assigned else None
        self._start()
        if died_at and died_at.is_second_try:
            return died_at.task, make_failed_result(died_at.task, sentence("workers.stopped_twice"))
        if died_at:
            self.assigned.appendleft(_AssignedTask(died_at.task, is_second_try=True))
        return None


# What follows runs in the worker process.


def _serve_tasks(connection, bench, coordinator):
    """Try the sandbox, then mark what comes, until the connection's other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != coordinator:
            os._exit(1)
    marker, tasks = bench.make_marker(), queue.SimpleQueue()
    _send_result(connection, marker.check_box)
    limits.limit_memory()  # all is imported by now
    # The next task is read meanwhile, so that the coordinator need not wait to send it.
    threading.Thread(target=_receive_tasks, args=(connection, tasks), daemon=True).start()
    while task := tasks.get():
        _send_result(connection, marker.mark, task)
    marker.box.stop()
    os._exit(0)  # to take down all that is imported takes Python longer


def _receive_tasks(connection, tasks):
    with contextlib.suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    tasks.put(None)


def _send_result(connection, function, *arguments):
    """Send whether the function could do it, and what it returned or why not."""
    try:
        connection.send((True, function(*arguments)))
    except OSError:  # nobody is there to be told
        pass
    except MachineryError as error:
        connection.send((False, error))
    except Exception as error:  # such as a result that cannot be sent between processes
        connection.send((False, RuntimeError(f"{type(error).__name__}: {error}")))
