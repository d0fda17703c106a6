"""The conversation with one submission's process: what is said is data, bounded and never believed.

Its clock is here, outside: at a cell's limit it is interrupted, and killed if that does not help.
Its memory is looked at from a thread of its own, since what it left running goes on while its
answer is judged.
"""

import base64
import socket
import threading
import time
from collections.abc import Callable
from typing import Protocol

from roofgrade.common import untrusted_json
from roofgrade.common.errors import MachineryError, ProcessCrashedError, ProcessEndedError
from roofgrade.common.sentences import sentence
from roofgrade.sandbox import host
from roofgrade.sandbox.inside.channel import LENGTH_HEAD, PIECE_BYTES, pack_message
from roofgrade.sandbox.memory import Meter

# The most bytes of one reply, of an answer's, and of all replies of a submission.
MOST_REPLY_BYTES, MOST_ANSWER_BYTES, MOST_TOTAL_BYTES = 8 << 20, 4 << 20, 24 << 20
MOST_VALUES = 600_000  # of one reply; a long schedule that is wrong has half as many
MOST_REQUESTS = 1000
MOST_CELLS = 10**6
# Seconds to get ready, to obey an interrupt, and between two looks at the memory.
READY_SECONDS, GRACE_SECONDS, TICK_SECONDS = 60.0, 5.0, 0.1


class Process(Protocol):
    """What can be done to a child."""

    pid: int

    def interrupt(self): ...

    def kill(self):
        """Kill it, without waiting; it may be gone."""

    def end(self):
        """Kill it, and wait until it is gone; nothing is asked of it after that."""


class Child:
    """One submission's process, from the moment its walls stand.

    ``alive`` says whether the warm Python is: without it the child's end is not the student's
    doing. Ends the process when a ``with`` block does.
    """

    def __init__(
        self, connection: socket.socket, process: Process, seconds: float, alive: Callable
    ):
        self._connection, self._process, self._alive = connection, process, alive
        self._deadline = time.monotonic() + seconds
        self._received = self._requests = 0
        self._buffer = bytearray()
        self._closed, self._is_over_memory = threading.Event(), False
        self._watching = threading.Thread(target=self._watch_memory, daemon=True)
        self.meter: Meter | None = None

    def send_files(self, files: dict[str, bytes], meter: Meter):
        """Hand it its files. Raises MachineryError if it cannot take them."""
        self.meter = meter
        self._watching.start()
        contents = {name: base64.b64encode(data).decode() for name, data in files.items()}
        self._send({"files": contents})
        self.wait_for("settled")

    def wait_for(self, word: str):
        """Wait for a sign of life. Raises MachineryError for anything else."""
        try:
            message = self._receive(time.monotonic() + READY_SECONDS)
        except (TimeoutError, ProcessEndedError) as error:
            raise MachineryError(f"a child was not {word}: {error}") from error
        if word not in message:
            raise host.explain_failure(str(message.get("failed", message)))

    def run(
        self, source: str, seconds: float = 30, ask: Callable[[dict], dict] | None = None
    ) -> tuple[dict, bool]:
        """Run a cell: its outputs and number, and whether it was interrupted after ``seconds``.

        The reply is ``{"outputs": [...], "count": int}``. The outputs are nbformat's, with two
        additions: ``display_id`` where a display can be changed, and ``update`` as output_type
        where one is. Nothing in the list is checked, and numbers may be NaN. ``ask`` answers what
        the cell asks the worker meanwhile.

        Raises EndedError when the process is gone or makes no sense, MachineryError when that is
        not the student's doing.
        """
        reply, slow = self._exchange_messages({"run": source}, seconds, ask, MOST_REPLY_BYTES)
        return self._check_reply(reply, "outputs", list), slow

    def probe(
        self, probe: dict, seconds: float = 30, ask: Callable[[dict], dict] | None = None
    ) -> tuple[dict, bool]:
        """Ask for an answer, as ``run``. The reply is ``{"answer": {...}, "count": int}``.

        The answer is empty where it was interrupted, or could not be read.
        """
        reply, slow = self._exchange_messages({"probe": probe}, seconds, ask, MOST_ANSWER_BYTES)
        return self._check_reply(reply, "answer", dict), slow

    def close(self):
        """Kill all its processes, and wait until they are gone."""
        self._connection.close()
        self._closed.set()
        self._process.kill()  # a look at its memory, which may be under way, ends with it
        if self._watching.is_alive():
            self._watching.join()
        try:
            self._process.end()
        finally:
            if self.meter:
                self.meter.close()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    def _exchange_messages(self, message, seconds, ask, most):
        self._send(message)
        until = min(time.monotonic() + seconds, self._deadline)
        try:
            return self._wait_for_reply(until, ask, most), False
        except TimeoutError:
            if time.monotonic() >= self._deadline:
                raise ProcessEndedError(sentence("sandbox.time_up")) from None
        self._process.interrupt()
        try:
            return self._wait_for_reply(time.monotonic() + GRACE_SECONDS, ask, most), True
        except TimeoutError:
            raise ProcessEndedError(sentence("sandbox.stuck", seconds=seconds)) from None

    def _wait_for_reply(self, until, ask, most):
        """The next message that is no question of the notebook's; questions are answered."""
        while True:
            message = self._receive(until, most)
            if "ask" not in message:
                return message
            self._requests += 1
            if not isinstance(message["ask"], dict) or self._requests > MOST_REQUESTS:
                raise ProcessEndedError(sentence("sandbox.asked_too_much"))
            self._send({"told": ask(message["ask"]) if ask else {}})

    def _check_reply(self, reply, name, kind):
        count = reply.get("count")
        if not isinstance(reply.get(name), kind) or type(count) is not int:
            raise ProcessEndedError(sentence("sandbox.nonsense"))
        if not 0 <= count < MOST_CELLS:
            raise ProcessEndedError(sentence("sandbox.nonsense"))
        return {name: reply[name], "count": count}

    def _send(self, message):
        self._connection.settimeout(READY_SECONDS)
        try:
            self._connection.sendall(pack_message(message))
        except OSError as error:
            raise self._make_end_error() from error

    def _receive(self, until, most=MOST_REPLY_BYTES):
        self._read_bytes(LENGTH_HEAD.size, until)
        size = LENGTH_HEAD.unpack_from(self._buffer)[0]
        if size > most or self._received + size > MOST_TOTAL_BYTES:
            raise ProcessEndedError(sentence("sandbox.put_out_too_much"))
        self._read_bytes(LENGTH_HEAD.size + size, until)
        data = bytes(self._buffer[LENGTH_HEAD.size :])
        self._received += size
        self._buffer.clear()
        try:
            message = untrusted_json.read(data, most=most, most_values=MOST_VALUES)
        except untrusted_json.UnreadableError as error:
            raise ProcessEndedError(sentence("sandbox.unreadable", why=error)) from error
        if not isinstance(message, dict):
            raise ProcessEndedError(sentence("sandbox.nonsense"))
        return message

    def _read_bytes(self, size, until):
        """Read until that many bytes of a message are there; time running out loses none."""
        while len(self._buffer) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            try:
                piece = self._connection.recv(min(size - len(self._buffer), PIECE_BYTES))
            except TimeoutError:
                raise
            except OSError as error:
                raise self._make_end_error() from error
            if not piece:
                raise self._make_end_error()
            self._buffer += piece

    def _watch_memory(self):
        """End the process when it holds too much; who talks with it finds out by that."""
        while not self._closed.wait(TICK_SECONDS):
            if self.meter.is_exceeded():
                self._is_over_memory = True
                self._process.kill()
                return

    def _make_end_error(self):
        if not self._alive():
            return MachineryError(sentence("sandbox.warm_ended"))
        if self._is_over_memory or (self.meter and self.meter.is_exceeded()):
            return ProcessEndedError(sentence("sandbox.memory"))
        return ProcessCrashedError(sentence("sandbox.ended"))
