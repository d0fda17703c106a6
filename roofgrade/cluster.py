"""Workers on many machines, by dask.distributed: the same marking, in one sandbox a process.

Submissions go out and results come back over the scheduler's connections; the coordinator keeps
and saves them. Everyone who can reach the scheduler's port can run code on its workers, so it
belongs in a network that one trusts, or behind Dask's own TLS. Student code cannot reach it: its
sandbox has no network.
"""

import contextlib
import functools
import multiprocessing
import signal
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError

import dask
from distributed import Client, KilledWorker, LocalCluster, as_completed
from distributed.comm import CommClosedError

from roofgrade.book.kept import hash_of, version
from roofgrade.errors import MachineryError
from roofgrade.results import Result
from roofgrade.task import Task
from roofgrade.text import words
from roofgrade.workers import AHEAD, Bench, unmarked

DASK = {
    # A daemon may not start processes, and a sandbox is one.
    "distributed.worker.daemon": False,
    # This holds for the scheduler that is started here: others may try more often.
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": "60s",
}


class Cluster:
    """The workers of a scheduler; a context manager.

    Dask does not tell which of a worker's tasks stopped it: they are tried once more, one alone.

    ``where`` is the scheduler's address, or "local" for ``count`` processes on this machine.
    """

    def __init__(self, bench: Bench, where: str, count: int):
        self._bench, self._where, self._count = bench, where, count
        self._version = version()

    def __enter__(self) -> "Cluster":
        with contextlib.ExitStack() as stack:
            stack.enter_context(dask.config.set(DASK))
            where = self._where
            if where == "local":
                where = stack.enter_context(local(self._count))
            try:
                self._client = stack.enter_context(Client(where))
            except (OSError, ValueError) as error:
                raise RuntimeError(
                    words("cluster.no_scheduler", address=where, error=error)
                ) from error
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def marked(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Each task with its result, in the order in which they get done.

        Raises RuntimeError if there are no workers, or their grader is another one; MachineryError,
        before anything is marked, if a sandbox cannot be started.
        """
        tasks = iter(tasks)
        first = next(tasks, None)
        if first is None:
            return
        self._check()
        running, given, suspects = as_completed(), {}, []

        def give(task):
            if task is not None:
                future = self._submit(task)
                given[future.key] = task
                running.add(future)

        give(first)
        for _ in range(AHEAD * sum(self._client.nthreads().values()) - 1):
            give(next(tasks, None))
        for future in running:
            task = given.pop(future.key)
            try:
                yield task, self._result(task, future)
            except KilledWorker:  # the fault of this task, or of another one that the worker had
                suspects.append(task)
            give(next(tasks, None))
        for task in suspects:
            try:
                yield task, self._result(task, self._submit(task, "alone"))
            except KilledWorker:
                yield task, unmarked(task, words("workers.stopped_twice"))

    def _submit(self, task, *how):
        # The same submission on the same grader is the same task, whoever asks.
        name = hash_of(task.student, task.folder, task.key, self._bench.unsandboxed, how)
        return self._client.submit(_mark, self._bench, self._version, task, key=f"roofkit-{name}")

    def _result(self, task, future):
        try:
            return future.result()
        except KilledWorker:
            raise
        except (CancelledError, CommClosedError) as error:
            raise RuntimeError(words("cluster.gone")) from error
        except Exception as error:  # such as a worker that joined later, with another grader
            return unmarked(task, words("workers.failed", error=error))

    def _check(self):
        versions = self._client.run(_their_version)
        if not versions:
            raise RuntimeError(words("cluster.no_workers", address=self._where))
        if others := [address for address, found in versions.items() if found != self._version]:
            raise RuntimeError(words("cluster.other_grader", addresses=", ".join(others)))
        self._client.gather(
            [
                self._client.submit(_try_box, self._bench, workers=[address], pure=False)
                for address in versions
            ]
        )


@contextlib.contextmanager
def local(count: int) -> Iterator[str]:
    """The address of a scheduler with ``count`` workers on this machine, in its own process.

    In the coordinator's process the scheduler and the writer would wait for each other.
    """
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_schedule, args=(theirs, count))
    process.start()
    theirs.close()
    try:
        yield _received(ours)
    finally:
        ours.close()
        process.join()


def _received(pipe):
    try:
        return pipe.recv()
    except EOFError as error:
        raise RuntimeError(words("cluster.not_started")) from error


# What follows runs in the scheduler's process.


def _schedule(pipe, count):
    """Serve until the pipe's other end is closed, which the death of its process does, too."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the coordinator
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set(DASK),
        contextlib.suppress(EOFError),
        LocalCluster(n_workers=count, threads_per_worker=1, **where) as cluster,
    ):
        pipe.send(cluster.scheduler_address)
        pipe.recv()


# What follows runs in the worker process.


@functools.cache
def _marker(bench):
    """The Marker of this worker process, made at the first submission."""
    return bench.set_up()


def _try_box(bench):
    _marker(bench).try_box()


def _their_version():
    return version()


def _mark(bench, wanted, task):
    if version() != wanted:
        raise MachineryError(words("cluster.other_worker"))
    return _marker(bench).marked(task)
