"""Sends JSON messages, and descriptors with them, over a socket."""

import socket
import struct
from json import dumps, loads

LENGTH_HEAD = struct.Struct("!I")
PIECE_BYTES = 1 << 20


def pack_message(message: dict) -> bytes:
    """Return a message as bytes: its length, then JSON. Unsupported values become their repr."""
    data = dumps(message, ensure_ascii=False, skipkeys=True, default=repr)
    data = data.encode("utf-8", "replace")
    return LENGTH_HEAD.pack(len(data)) + data


class Channel:
    """One end of a socket to a trusted peer. Raises EOFError when the peer closes it."""

    def __init__(self, connection: socket.socket):
        self.connection = connection

    def send(self, message: dict, descriptors=()):
        data = pack_message(message)
        if descriptors:
            socket.send_fds(self.connection, [data[:1]], descriptors)
            data = data[1:]
        self.connection.sendall(data)

    def receive(self) -> dict:
        return self._receive_rest(b"")

    def receive_descriptor(self) -> tuple[dict, int | None]:
        """Return a message and the descriptor that came with it, if any."""
        first, descriptors, *_ = socket.recv_fds(self.connection, 1, 1)
        return self._receive_rest(first), descriptors[0] if descriptors else None

    def _receive_rest(self, start):
        head = start + self._read_exactly(LENGTH_HEAD.size - len(start))
        return loads(self._read_exactly(LENGTH_HEAD.unpack(head)[0]))

    def _read_exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.connection.recv(min(size - len(data), PIECE_BYTES))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)
