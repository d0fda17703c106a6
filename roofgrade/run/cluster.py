"""Marks submissions on a Dask cluster.

Each Dask worker passes its tasks to its own worker process, with the same sandbox and limits as on
one machine, so student code cannot reach Dask or the scheduler. Start the workers with ``dask
worker ADDRESS --no-nanny --nthreads 1``, with the same version of the grader installed.
"""

import contextlib
import ipaddress
import itertools
import threading
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from roofgrade.common.errors import MachineryError
from roofgrade.common.marking_task import Task
from roofgrade.common.results import Result
from roofgrade.common.sentences import sentence
from roofgrade.gradebook.result_files import hash_grader
from roofgrade.run.workers import TASKS_AHEAD, MarkingSetup, Workers, make_failed_result

CONNECT_SECONDS = "60s"  # to wait for the scheduler, and for a first worker
_thread_state = threading.local()


class Cluster:
    """The workers of the Dask scheduler at ``address``, as a context manager like Workers.

    Whoever can connect to a scheduler without TLS can run code as its owner. Unless
    ``trusts_network``, such a scheduler may only listen on this machine's loopback address. Raises
    ValueError if it does not, and RuntimeError if the scheduler does not answer or has no worker,
    if a worker has another version of the grader, or if dask.distributed is not installed.
    """

    def __init__(self, setup: MarkingSetup, address: str, trusts_network: bool = False):
        self._setup, self._address, self._trusts_network = setup, address, trusts_network

    def __enter__(self) -> "Cluster":
        self._check_address(self._address)
        try:
            from distributed import Client
        except ModuleNotFoundError as error:
            raise RuntimeError(sentence("cluster.not_installed")) from error
        try:
            self._client = Client(self._address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            fields = {"address": self._address, "error": str(error) or type(error).__name__}
            raise RuntimeError(sentence("cluster.no_scheduler", **fields)) from error
        # A scheduler that listens on every address is also at this machine's loopback address.
        self._check_address(self._client.scheduler_info()["address"])
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            self._client.close()
            raise RuntimeError(sentence("cluster.no_worker", address=self._address)) from error
        return self

    def _check_address(self, address):
        if not (self._trusts_network or is_protected(address)):
            raise ValueError(sentence("cluster.open", address=address))

    def __exit__(self, *error):
        self._client.close()

    def mark_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Result]]:
        """Yield each task with its result, in order of completion. Takes new tasks on demand.

        If a worker is lost, another worker does its work. Raises MachineryError if a sandbox cannot
        be started.
        """
        from distributed import as_completed

        tasks, running, done = iter(tasks), {}, as_completed(loop=self._client.loop)
        while True:
            room = TASKS_AHEAD * max(1, sum(self._client.nthreads().values())) - len(running)
            for task in itertools.islice(tasks, max(0, room)):
                arguments = task, self._setup, hash_grader()
                future = self._client.submit(_mark_in_worker, *arguments, pure=False)
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
        reason = f"{type(error).__name__}: {error}" if error else future.status
        return make_failed_result(task, sentence("workers.failed", error=reason))


def is_protected(address: str) -> bool:
    """Return whether a scheduler at this address uses TLS or listens only on this machine.

    >>> is_protected("tls://10.0.0.7:8786"), is_protected("tcp://[::1]:8786")
    (True, True)
    >>> is_protected("tcp://10.0.0.7:8786"), is_protected("scheduler:8786")
    (False, False)
    """
    url = urlsplit(address if "://" in address else f"tcp://{address}")
    with contextlib.suppress(ValueError):
        return url.scheme in ("tls", "wss") or ipaddress.ip_address(url.hostname).is_loopback
    return url.hostname == "localhost"


class OtherGraderError(RuntimeError):
    """A worker has another version of the grader than this run."""


# The code below runs in a Dask worker.


def _mark_in_worker(task, setup, grader):
    if hash_grader() != grader:
        raise OtherGraderError(sentence("cluster.other_grader"))
    if getattr(_thread_state, "setup", None) != setup:
        _thread_state.setup, _thread_state.workers = setup, Workers(setup, 1)
    return _thread_state.workers.mark_one(task)
