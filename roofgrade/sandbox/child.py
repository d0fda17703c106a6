"""Talks to one submission's process. Its replies are bounded data, and are never trusted.

The clock runs outside the process. At a cell's time limit, the process is interrupted, and killed
if that does not help. A thread watches its memory, since the student's background code can run
while an answer is judged.
"""

import base64
import socket
import threading
import time
from collections.abc import Callable

from roofgrade.common import untrusted_json
from roofgrade.common.errors import MachineryError, ProcessCrashedError, ProcessEndedError
from roofgrade.common.sentences import sentence
from roofgrade.sandbox import host
from roofgrade.sandbox.inside.channel import LENGTH_HEAD, PIECE_BYTES, pack_message

# The maximum bytes of a cell's reply, of a probe's reply, and of all a submission's replies.
MOST_REPLY_BYTES, MOST_ANSWER_BYTES, MOST_TOTAL_BYTES = 8 << 20, 4 << 20, 24 << 20
MOST_VALUES = 600_000  # in one reply; a long, wrong schedule has half of that
MOST_REQUESTS = 1000
MOST_CELLS = 10**6
# Seconds to get ready, to react to an interrupt, and between two memory checks.
READY_SECONDS, GRACE_SECONDS, TICK_SECONDS = 60.0, 5.0, 0.1


class Child:
    """A submission's process, as a context manager that ends it.

    ``process`` is a PidfdProcess or a GroupProcess. ``alive`` returns whether the warm Python is
    running. If it is not, the student is not to blame for the child's end.
    """

    def __init__(self, connection: socket.socket, process, seconds: float, alive: Callable):
        self._connection, self._process, self._alive = connection, process, alive
        self._deadline = time.monotonic() + seconds
        self._received = self._requests = 0
        self._buffer = bytearray()
        self._closed, self._is_over_memory = threading.Event(), False
        self._watching = threading.Thread(target=self._watch_memory, daemon=True)
        self.meter = None

    def send_files(self, files: dict[str, bytes], meter=None):
        """Send the submission's files and start watching the memory, if there is a meter.

        Raises MachineryError if the process cannot store the files.
        """
        self.meter = meter
        if meter:
            self._watching.start()
        contents = {name: base64.b64encode(data).decode() for name, data in files.items()}
        self._send({"files": contents})
        self.wait_for("settled")

    def wait_for(self, word: str):
        """Wait for a message with the key ``word``. Raises MachineryError for any other."""
        try:
            message = self._receive(time.monotonic() + READY_SECONDS)
        except (TimeoutError, ProcessEndedError) as error:
            raise MachineryError(f"a sandboxed process is not {word}: {error}") from error
        if word not in message:
            raise host.explain_failure(str(message.get("failed", message)))

    def run(
        self, source: str, seconds: float = 30, ask: Callable[[dict], dict] | None = None
    ) -> tuple[dict, bool]:
        """Run a cell. Returns its reply, and whether it was interrupted after ``seconds``.

        The reply is ``{"outputs": [...], "count": int}``. The outputs follow nbformat, plus
        ``display_id`` for a display that can be updated, and the output_type ``update`` for its
        updates. The list is not validated. ``ask`` answers the cell's requests while it runs.

        Raises ProcessEndedError if the process has ended or sent an invalid reply, and
        MachineryError if that is not the student's fault.
        """
        reply, slow = self._exchange_messages({"run": source}, seconds, ask, MOST_REPLY_BYTES)
        return self._check_reply(reply, "outputs", list), slow

    def probe(self, probe: dict, seconds: float = 30) -> tuple[dict, bool]:
        """Ask for an answer, as ``run`` does. The reply is ``{"answer": {...}, "count": int}``.

        The answer is empty if reading the value was interrupted or failed.
        """
        reply, slow = self._exchange_messages({"probe": probe}, seconds, None, MOST_ANSWER_BYTES)
        return self._check_reply(reply, "answer", dict), slow

    def close(self):
        """Kill all processes of the submission, and wait until they are gone."""
        self._connection.close()
        self._closed.set()
        self._process.kill()  # This also ends a running memory check.
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
        """Return the next reply, and answer the notebook's requests until it arrives."""
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
        is_expected = isinstance(reply.get(name), kind) and type(count) is int
        if not is_expected or not 0 <= count < MOST_CELLS:
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
        """Read until the buffer has ``size`` bytes. A timeout loses no data."""
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
