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
from roofgrade.common.errors import EndedError, GoneError, MachineryError
from roofgrade.common.sentences import words
from roofgrade.sandbox import host
from roofgrade.sandbox.inside.channel import HEAD, PIECE, packed
from roofgrade.sandbox.memory import Meter

# The most bytes of one reply, of an answer's, and of all replies of a submission.
REPLY, ANSWER, TOTAL = 8 << 20, 4 << 20, 24 << 20
MOST_VALUES = 600_000  # of one reply; a long schedule that is wrong has half as many
REQUESTS = 1000
CELLS = 10**6
# Seconds to get ready, to obey an interrupt, and between two looks at the memory.
READY, GRACE, TICK = 60.0, 5.0, 0.1


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
        self._end = time.monotonic() + seconds
        self._received = self._requests = 0
        self._read = bytearray()
        self._closed, self._over = threading.Event(), False
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self.meter: Meter | None = None

    def settle(self, files: dict[str, bytes], meter: Meter):
        """Hand it its files. Raises MachineryError if it cannot take them."""
        self.meter = meter
        self._watching.start()
        contents = {name: base64.b64encode(data).decode() for name, data in files.items()}
        self._send({"files": contents})
        self.expect("settled")

    def expect(self, word: str):
        """Wait for a sign of life. Raises MachineryError for anything else."""
        try:
            message = self._receive(time.monotonic() + READY)
        except (TimeoutError, EndedError) as error:
            raise MachineryError(f"a child was not {word}: {error}") from error
        if word not in message:
            raise host.explained(str(message.get("failed", message)))

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
        reply, slow = self._converse({"run": source}, seconds, ask, REPLY)
        return self._checked(reply, "outputs", list), slow

    def probe(
        self, probe: dict, seconds: float = 30, ask: Callable[[dict], dict] | None = None
    ) -> tuple[dict, bool]:
        """Ask for an answer, as ``run``. The reply is ``{"answer": {...}, "count": int}``.

        The answer is empty where it was interrupted, or could not be read.
        """
        reply, slow = self._converse({"probe": probe}, seconds, ask, ANSWER)
        return self._checked(reply, "answer", dict), slow

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

    def _converse(self, message, seconds, ask, most):
        self._send(message)
        until = min(time.monotonic() + seconds, self._end)
        try:
            return self._reply(until, ask, most), False
        except TimeoutError:
            if time.monotonic() >= self._end:
                raise EndedError(words("sandbox.time_up")) from None
        self._process.interrupt()
        try:
            return self._reply(time.monotonic() + GRACE, ask, most), True
        except TimeoutError:
            raise EndedError(words("sandbox.stuck", seconds=seconds)) from None

    def _reply(self, until, ask, most):
        """The next message that is no question of the notebook's; questions are answered."""
        while True:
            message = self._receive(until, most)
            if "ask" not in message:
                return message
            self._requests += 1
            if not isinstance(message["ask"], dict) or self._requests > REQUESTS:
                raise EndedError(words("sandbox.asked_too_much"))
            self._send({"told": ask(message["ask"]) if ask else {}})

    def _checked(self, reply, name, kind):
        count = reply.get("count")
        if not isinstance(reply.get(name), kind) or type(count) is not int:
            raise EndedError(words("sandbox.nonsense"))
        if not 0 <= count < CELLS:
            raise EndedError(words("sandbox.nonsense"))
        return {name: reply[name], "count": count}

    def _send(self, message):
        self._connection.settimeout(READY)
        try:
            self._connection.sendall(packed(message))
        except OSError as error:
            raise self._gone() from error

    def _receive(self, until, most=REPLY):
        self._fill(HEAD.size, until)
        size = HEAD.unpack_from(self._read)[0]
        if size > most or self._received + size > TOTAL:
            raise EndedError(words("sandbox.put_out_too_much"))
        self._fill(HEAD.size + size, until)
        data = bytes(self._read[HEAD.size :])
        self._received += size
        self._read.clear()
        try:
            message = untrusted_json.data(data, most=most, most_values=MOST_VALUES)
        except untrusted_json.UnreadableError as error:
            raise EndedError(words("sandbox.unreadable", why=error)) from error
        if not isinstance(message, dict):
            raise EndedError(words("sandbox.nonsense"))
        return message

    def _fill(self, size, until):
        """Read until that many bytes of a message are there; time running out loses none."""
        while len(self._read) < size:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(left)
            try:
                piece = self._connection.recv(min(size - len(self._read), PIECE))
            except TimeoutError:
                raise
            except OSError as error:
                raise self._gone() from error
            if not piece:
                raise self._gone()
            self._read += piece

    def _watch(self):
        """End the process when it holds too much; who talks with it finds out by that."""
        while not self._closed.wait(TICK):
            if self.meter.exceeded():
                self._over = True
                self._process.kill()
                return

    def _gone(self):
        if not self._alive():
            return MachineryError(words("sandbox.warm_ended"))
        if self._over or (self.meter and self.meter.exceeded()):
            return EndedError(words("sandbox.memory"))
        return GoneError(words("sandbox.ended"))
