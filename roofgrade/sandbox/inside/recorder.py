"""Records the outputs of a cell as nbclient would, up to limits."""

import base64
import contextlib
import io
import os

from roofgrade.sandbox.inside.sentences import sentence

# The maximum number of characters per stream of a cell, and in all its other outputs.
MOST_OF_STREAM, MOST_OF_CELL = 1_000_000, 4_000_000
STREAM_NAMES = {1: "stdout", 2: "stderr"}


class Recorder:
    """The outputs of the running cell.

    ``owns_descriptors`` is set when descriptors 1 and 2 are files of this process. Other programs
    and C code write to these files directly, so each new output first fetches what they wrote.
    """

    def __init__(self):
        self.owns_descriptors = False
        self.begin_cell()

    def begin_cell(self):
        """Forget the last cell's outputs."""
        self._outputs, self._pieces, self._room = [], [], MOST_OF_CELL
        self._stream_room = dict.fromkeys(STREAM_NAMES.values(), MOST_OF_STREAM)
        self._clear_next = self._dropped = False
        if self.owns_descriptors:
            for descriptor in STREAM_NAMES:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, 0)

    def end_cell(self) -> list[dict]:
        self._fetch_files()
        self._join_pieces()
        return self._outputs

    def emit(self, output: dict):
        """Record an output other than stream text."""
        self._fetch_files()
        self._clear_if_due()
        self._room -= _count_characters(output)
        if self._room < 0:
            if not self._dropped:
                self._add_text("stdout", f"{sentence('dropped')}\n")
            self._dropped = True
        else:
            self._join_pieces()
            self._outputs.append(output)

    def write(self, name: str, text: str):
        """Record text on the stream with this name."""
        if self._stream_room[name] > 0:
            self._fetch_files()
            self._clear_if_due()
            self._write_limited(name, text)

    def clear(self, wait: bool):
        """Forget all outputs, immediately or, if ``wait``, with the next output."""
        self._clear_next = wait
        if not wait:
            self._outputs, self._pieces = [], []

    def _write_limited(self, name, text):
        left = self._stream_room[name]
        if left <= 0 or not text:
            return
        self._stream_room[name] = left - len(text)
        self._add_text(name, text[:left])
        if len(text) >= left:
            self._add_text(name, f"\n{sentence('truncated')}\n")

    def _add_text(self, name, text):
        # Joining 300,000 lines one by one would copy the text as many times, so join them once.
        if not (self._outputs and self._outputs[-1].get("name") == name):
            self._join_pieces()
            self._outputs.append({"output_type": "stream", "name": name, "text": ""})
        self._pieces.append(text)

    def _join_pieces(self):
        if self._pieces:
            self._outputs[-1]["text"] += "".join(self._pieces)
            self._pieces = []

    def _clear_if_due(self):
        if self._clear_next:
            self.clear(wait=False)

    def _fetch_files(self):
        for descriptor, name in STREAM_NAMES.items() if self.owns_descriptors else ():
            try:
                size = os.fstat(descriptor).st_size
                data = os.pread(descriptor, min(size, MOST_OF_STREAM), 0) if size else b""
                if size:
                    os.ftruncate(descriptor, 0)
            except OSError:  # The student's code closed it.
                continue
            if data:
                self._clear_if_due()
                self._write_limited(name, data.decode("utf-8", "replace"))


class Stream(io.TextIOBase):
    """The sys.stdout or sys.stderr of a cell."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, recorder, descriptor):
        self._recorder, self._descriptor = recorder, descriptor

    @property
    def name(self):
        return f"<{STREAM_NAMES[self._descriptor]}>"

    def writable(self):
        return True

    def fileno(self):
        return self._descriptor

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        self._recorder.write(STREAM_NAMES[self._descriptor], str(text))
        return len(text)


def encode_bytes(data: dict) -> dict:
    """Return a MIME bundle with its bytes encoded as base64."""
    return {
        kind: base64.encodebytes(value).decode() if isinstance(value, bytes) else value
        for kind, value in data.items()
    }


def _count_characters(output):
    values = [*output.get("data", {}).values(), *output.get("traceback", ())]
    return sum(len(value) if isinstance(value, str) else len(repr(value)) for value in values)
