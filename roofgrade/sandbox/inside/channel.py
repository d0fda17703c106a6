"""Messages over a socket: JSON, with its length before it; descriptors may travel along."""

import array
import socket
import struct
from json import dumps, loads

LENGTH_HEAD = struct.Struct("!I")
PIECE_BYTES = 1 << 20


def pack_message(message: dict) -> bytes:
    """The bytes of a message. What JSON cannot hold goes as its repr, a lone surrogate as "?"."""
    data = dumps(message, ensure_ascii=False, skipkeys=True, default=repr)
    data = data.encode("utf-8", "replace")
    return LENGTH_HEAD.pack(len(data)) + data


class Channel:
    """One end of a socket whose other end is trusted.

    Raises EOFError when the other end is closed.
    """

    def __init__(self, connection: socket.socket):
        self.connection = connection

    def send(self, message: dict, descriptors=()):
        data = pack_message(message)
        if descriptors:
            socket.send_fds(self.connection, [data[:1]], descriptors)
            data = data[1:]
        self.connection.sendall(data)

    def receive(self) -> dict:
        return loads(
            self._read_exactly(LENGTH_HEAD.unpack(self._read_exactly(LENGTH_HEAD.size))[0])
        )

    def receive_descriptor(self) -> tuple[dict, int | None]:
        """A message, and the descriptor that came with it."""
        room = socket.CMSG_SPACE(array.array("i").itemsize)
        first, ancillary, *_ = self.connection.recvmsg(1, room)
        found = array.array("i")
        for *_, data in ancillary:
            found.frombytes(data)
        head = (
            first + self._read_exactly(LENGTH_HEAD.size - len(first))
            if first
            else self._read_exactly(1)
        )
        message = loads(self._read_exactly(LENGTH_HEAD.unpack(head)[0]))
        return message, found[0] if found else None

    def _read_exactly(self, size):
        data = bytearray()
        while len(data) < size:
            piece = self.connection.recv(min(size - len(data), PIECE_BYTES))
            if not piece:
                raise EOFError
            data += piece
        return bytes(data)
