"""Worker processes on one machine: each marks one submission at a time, in one sandbox.

If a worker dies, another one replaces it and retries its submission. After a second death, the
submission waits for a person. Each worker has its own connection, which closes when it ends. (If a
process is killed while it sends a result, concurrent.futures waits forever for the rest.)
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

# The number of tasks that a worker has at a time, so that it need not wait for the next one.
TASKS_AHEAD = 2
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class MarkingSetup:
    """The function that marks submissions, and the class and settings of the sandbox.

    No sandbox may expose the folders and files in ``private``.
    """

    mark: Callable
    box: Callable
    unsandboxed: bool
    private: tuple[Path, ...] = ()


class SubmissionMarker:
    """Marks submissions one at a time, in one box."""

    def __init__(self, setup: MarkingSetup):
        self._mark = setup.mark
        self.box = setup.box(unsandboxed=setup.unsandboxed, private=setup.private)

    def check_box(self):
        """Raise MachineryError if the sandbox cannot be started."""
        with self.box.open({}):
            pass

    def mark(self, task: Task) -> Result:
        """Mark a submission. If the grader fails twice, the result waits for a person.

        Ends this process if reading the student's data takes too long.
        """
        for _ in range(2):
            try:
                with limits.limit_process_time():
                    return self._mark(task, self.box)
            except MachineryError as error:
                retry, reason = True, sentence("workers.failed_twice", error=error)
            except MemoryError:
                retry, reason = False, sentence("workers.too_much")
            except Exception as error:
                text = f"{type(error).__name__}: {error}"
                retry, reason = False, sentence("workers.failed", error=text)
            self.box.stop()  # The next try or submission gets a fresh sandbox.
            if not retry:
                break
        return make_failed_result(task, reason)


def make_failed_result(task: Task, reason: str) -> Result:
    """Return the result of a failed marking, without a key, so that the next run tries again."""
    return Result(
        student=task.student, assignment=task.assignment, folder=task.folder, state=WAITING,
        reason=reason[:500], remarks=task.remarks, submitted=task.submitted,
    )  # fmt: skip


class Workers:
    """A context manager for ``count`` worker processes, which are started when there are tasks."""

    def __init__(self, setup: MarkingSetup, count: int):
        self._setup, self._count, self._processes = setup, count, []

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *error):
        for process in self._processes:
            process.kill()
        self._processes = []

    def mark_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each task with its result, in order of completion. Takes new tasks on demand.

        Raises MachineryError if a sandbox cannot be started.
        """
        try:
            yield from self._mark_tasks(iter(tasks))
            for wait_for_end in (False, True):  # Let all of them end in parallel.
                for process in self._processes:
                    process.finish(wait_for_end)
        finally:
            self.__exit__()

    def mark_one(self, task: Task) -> Result:
        """Mark a single task and return its result. The worker stays for the next one.

        Raises MachineryError if the sandbox cannot be started. The next call tries again.
        """
        try:
            [(_, result)] = self._mark_tasks(iter([task]))
        except BaseException:
            self.__exit__()
            raise
        return result

    def _mark_tasks(self, tasks):
        waiting = deque()  # tasks for the first worker with room
        while True:
            for process in self._processes:
                while process.has_room:
                    task = waiting.popleft() if waiting else next(tasks, None)
                    if task is None:
                        break
                    process.assign(task)
            while len(self._processes) < self._count and (task := next(tasks, None)):
                waiting.append(task)
                if len(waiting) > sum(not process.is_ready for process in self._processes):
                    self._processes.append(_WorkerProcess(self._setup))
            if not waiting:
                waiting.extend(itertools.islice(tasks, 1))
            if not waiting and not any(process.assigned for process in self._processes):
                return
            busy = [worker for worker in self._processes if worker.assigned or not worker.is_ready]
            by_connection = {worker.connection: worker for worker in busy}
            for connection in wait([*by_connection]):
                if done := by_connection[connection].receive():
                    yield done


class _WorkerProcess:
    """One worker process and its assigned tasks in order, of which it marks the first.

    Each task has a flag that says whether a worker has already died while marking it.
    """

    def __init__(self, setup):
        self._setup, self.assigned, self._failed_starts = setup, deque(), 0
        self._start()

    @property
    def has_room(self):
        return self.is_ready and len(self.assigned) < TASKS_AHEAD

    def assign(self, task):
        self.assigned.append((task, False))
        self._send(task)

    def receive(self):
        """Read one message. Returns the first task with its result, or None.

        None means that the sandbox has started, or that the worker died and the task is retried.
        Raises MachineryError if the sandbox cannot be started.
        """
        try:
            is_done, result = self.connection.recv()
        except (EOFError, OSError):
            return self._replace_process()
        if not self.is_ready:
            if not is_done:
                raise result
            self.is_ready, self._failed_starts = True, 0
            for task, _ in self.assigned:
                self._send(task)
            return None
        task, _ = self.assigned.popleft()
        if not is_done:
            result = make_failed_result(task, sentence("workers.failed", error=result))
        return task, result

    def finish(self, wait_for_end):
        """Let the worker end, or kill it if it is still starting."""
        if not self.is_ready:
            self._process.kill()
        self.connection.close()
        if wait_for_end:
            self._process.join()

    def kill(self):
        self._process.kill()
        self._process.join()
        self.connection.close()

    def _start(self):
        self.is_ready = False
        spawn = multiprocessing.get_context("spawn")
        self.connection, theirs = spawn.Pipe()
        with theirs:  # Only the worker keeps this end, so it closes when the worker ends.
            arguments = (theirs, self._setup, os.getpid())
            self._process = spawn.Process(target=_serve_tasks, args=arguments)
            # The worker inherits this, so Ctrl-C cannot reach it before it ignores the signal.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            self._process.start()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _send(self, task):
        with contextlib.suppress(OSError):  # The next receive notices a dead worker.
            self.connection.send(task)

    def _replace_process(self):
        """Replace a dead worker. Returns a task that killed two workers and its result, or None."""
        self.kill()
        if not self.is_ready:
            self._failed_starts += 1
        if self._failed_starts == 2:
            raise MachineryError(sentence("workers.stopped_at_start"))
        was_marking = self.is_ready and self.assigned
        self._start()
        if was_marking:
            task, is_second_try = self.assigned.popleft()
            if is_second_try:
                return task, make_failed_result(task, sentence("workers.stopped_twice"))
            self.assigned.appendleft((task, True))
        return None


# The code below runs in the worker process.


def _serve_tasks(connection, setup, coordinator):
    """Start the sandbox, then mark tasks until the connection's other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Only the coordinator handles Ctrl-C.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # The sandbox interrupts with it.
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != coordinator:
            os._exit(1)
    marker, tasks = SubmissionMarker(setup), queue.SimpleQueue()
    _send_result(connection, marker.check_box)
    limits.limit_process_memory()  # All modules are imported by now.
    # A thread receives the next task meanwhile, so that sending it never blocks the coordinator.
    threading.Thread(target=_receive_tasks, args=(connection, tasks), daemon=True).start()
    while task := tasks.get():
        _send_result(connection, marker.mark, task)
    marker.box.stop()
    os._exit(0)  # A normal exit would spend time on tearing down all modules.


def _receive_tasks(connection, tasks):
    with contextlib.suppress(EOFError, OSError):
        while True:
            tasks.put(connection.recv())
    tasks.put(None)


def _send_result(connection, function, *arguments):
    """Send True and what the function returns, or False and its error."""
    try:
        connection.send((True, function(*arguments)))
    except OSError:  # The coordinator is gone.
        pass
    except MachineryError as error:
        connection.send((False, error))
    except Exception as error:  # For example, a result that cannot be pickled.
        connection.send((False, RuntimeError(f"{type(error).__name__}: {error}")))
