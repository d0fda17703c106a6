"""Workers on many machines: a Dask cluster marks submissions, each worker one at a time.

A Dask worker starts, beside itself, the same worker process as a run on one machine does, with the
same sandbox, clock and bounds: what it is given goes to that process, and the result comes back. So
no student's code shares a process with Dask, and none has a network to reach the scheduler by.

Start workers without a nanny and with one thread, ``dask worker ADDRESS --no-nanny --nthreads 1``,
in an environment that holds the same grader.
"""

import itertools
import threading
from collections.abc import Iterable, Iterator

from roofgrade.common.errors import MachineryError
from roofgrade.common.marking_task import Task
from roofgrade.common.results import Result
from roofgrade.common.sentences import sentence
from roofgrade.gradebook.result_files import hash_grader
from roofgrade.run.workers import TASKS_AHEAD, MarkingSetup, Workers, make_failed_result

CONNECT_SECONDS = "60s"  # to wait for the scheduler, and for the first worker
_thread_state = threading.local()


class Cluster:
    """The workers of the Dask scheduler at ``address``, in place of Workers; a context manager.

    Raises RuntimeError if nobody answers there, there is no worker, one holds another grader, or
    dask.distributed is not installed here.
    """

    def __init__(self, bench: MarkingSetup, address: str):
        self._bench, self._address = bench, address

    def __enter__(self) -> "Cluster":
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise RuntimeError(sentence("cluster.not_installed")) from error
        try:
            self._client = Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise RuntimeError(
                sentence("cluster.no_scheduler", address=self._address, error=reason)
            ) from error
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            self._client.close()
            raise RuntimeError(sentence("cluster.no_worker", address=self._address)) from error
        return self

    def __exit__(self, *error):
        self._client.close()

    def start(self, tasks: int):
        """Nothing: they run already."""

    def mark_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Each task with its result, in the order in which they get done.

        Tasks are taken when there is room for them; the work of a worker that is lost goes to
        another one. Raises MachineryError if a sandbox cannot be started.
        """
        from distributed import as_completed

        tasks, running, done = iter(tasks), {}, as_completed(loop=self._client.loop)
        while True:
            room = TASKS_AHEAD * max(1, sum(self._client.nthreads().values())) - len(running)
            for task in itertools.islice(tasks, max(0, room)):
                future = self._client.submit(
                    _mark_in_worker, task, self._bench, hash_grader(), pure=False
                )
                running[future] = task
                done.add(future)
            if not running:
                return
            future = next(done)
            task = running.pop(future)
            yield task, self._read_result(future, task)

    def _read_result(self, future, task):
        if future.status == "finished":
            return future.result()
        error = future.exception() if future.status == "error" else None
        if isinstance(error, MachineryError | OtherGraderError):
            raise error
        said = f"{type(error).__name__}: {error}" if error else future.status
        return make_failed_result(task, sentence("workers.failed", error=said))


class OtherGraderError(RuntimeError):
    """A worker's grader is not the one of this run."""


# What follows runs in a Dask worker.


def _mark_in_worker(task, bench, grader):
    """The result of one submission, from the worker process beside this thread."""
    if hash_grader() != grader:
        raise OtherGraderError(sentence("cluster.other_grader"))
    if getattr(_thread_state, "bench", None) != bench:
        _thread_state.bench, _thread_state.workers = bench, Workers(bench, 1)
    return _thread_state.workers.mark_one(task)
