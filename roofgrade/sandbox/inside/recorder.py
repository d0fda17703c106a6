"""What a cell puts out, written down as nbclient would find it, within limits."""

import base64
import contextlib
import io
import os

from roofgrade.sandbox.inside.text import words

# The most characters of a cell: of each stream, and of everything together.
STREAM, EVERYTHING = 1_000_000, 4_000_000
NAMES = {1: "stdout", 2: "stderr"}


class Recorder:
    """The outputs of the running cell; ``watched`` once descriptors 1 and 2 are files of its own.

    Output of other programs, and of C, goes past Python into those files, and is fetched from
    there whenever anything else is put out.
    """

    def __init__(self):
        self.watched = False
        self.begin()

    def begin(self):
        """Forget the last cell's outputs."""
        self._outputs, self._words = [], []
        self._room, self._stream_room = EVERYTHING, dict.fromkeys(NAMES.values(), STREAM)
        self._clear_next = self._dropped = False
        if self.watched:
            for descriptor in NAMES:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)

    def end(self) -> list[dict]:
        """All outputs of the cell."""
        self._fetch()
        self._join_words()
        return self._outputs

    def emit(self, output: dict):
        """An output that is no stream."""
        self._fetch()
        self._clear_if_due()
        self._room -= _size(output)
        if self._room < 0:
            if not self._dropped:
                self._say("stdout", f"{words('dropped')}\n")
            self._dropped = True
        else:
            self._join_words()
            self._outputs.append(output)

    def write(self, name: str, text: str):
        """Text on a stream."""
        if self._stream_room[name] > 0:
            self._fetch()
            self._clear_if_due()
            self._write(name, text)

    def clear(self, wait: bool):
        """Forget what was put out so far, at once or when something new comes."""
        self._clear_next = wait
        if not wait:
            self._outputs, self._words = [], []

    def _write(self, name, text):
        left = self._stream_room[name]
        if left <= 0 or not text:
            return
        self._stream_room[name] = left - len(text)
        self._say(name, text[:left])
        if len(text) >= left:
            self._say(name, f"\n{words('truncated')}\n")

    def _say(self, name, text):
        # The parts are joined once: joined one by one, 300,000 lines would be copied as often.
        if not (self._outputs and self._outputs[-1].get("name") == name):
            self._join_words()
            self._outputs.append({"output_type": "stream", "name": name, "text": ""})
        self._words.append(text)

    def _join_words(self):
        if self._words:
            self._outputs[-1]["text"] += "".join(self._words)
            self._words = []

    def _clear_if_due(self):
        if self._clear_next:
            self.clear(wait=False)

    def _fetch(self):
        for descriptor, name in NAMES.items() if self.watched else ():
            try:
                size = os.fstat(descriptor).st_size
                data = os.pread(descriptor, min(size, STREAM), 0) if size else b""
                if size:
                    os.ftruncate(descriptor, 0)
            except OSError:  # closed by the student
                continue
            if data:
                self._clear_if_due()
                self._write(name, data.decode("utf-8", "replace"))


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr of a cell."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, recorder, descriptor):
        self._recorder, self._descriptor = recorder, descriptor

    @property
    def name(self):
        return f"<{NAMES[self._descriptor]}>"

    def writable(self):
        return True

    def fileno(self):
        return self._descriptor

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        self._recorder.write(NAMES[self._descriptor], str(text))
        return len(text)


def texts(data: dict) -> dict:
    """A MIME bundle with its bytes as base64."""
    return {
        kind: base64.encodebytes(value).decode() if isinstance(value, bytes) else value
        for kind, value in data.items()
    }


def _size(output):
    values = [*output.get("data", {}).values(), *output.get("traceback", ())]
    return sum(len(value) if isinstance(value, str) else len(repr(value)) for value in values)
