"""Raw Kafka frames over a plain socket, with an error for everything a peer may do instead of responding.

For requests that no client library would send and responses that none would show. A frame is a 4-byte
big-endian length and that many bytes; requests and responses are passed without the length.

    RawError
    ├── NotConnected    the connection was refused
    ├── ClosedByPeer    the peer closed or reset it
    ├── NoAnswer        no complete frame came in time
    └── BadFrame        the length is impossible for a response
"""

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

_LENGTH: Final = struct.Struct(">i")
_ANSWER_BYTES_MAX: Final = 512 << 20
_CHUNK_BYTES: Final = 1 << 20


class RawError(Exception):
    """The exchange failed."""


class NotConnected(RawError):
    """The connection could not be made."""


class ClosedByPeer(RawError):
    """The peer has closed or reset the connection."""


class NoAnswer(RawError):
    """No complete frame came within the timeout; the connection is still open."""


class BadFrame(RawError):
    """The peer announced an impossible length."""


@dataclass(frozen=True, slots=True)
class RawConnection:
    """One connection, used by one thread; `timeout_s` is for each call."""

    socket: socket.socket
    timeout_s: float

    @classmethod
    @contextmanager
    def open(cls, address: tuple[str, int], timeout_s: float = 10.0) -> Iterator["RawConnection"]:
        try:
            connected = socket.create_connection(address, timeout_s)
        except OSError as error:
            raise NotConnected(f"{address[0]}:{address[1]}: {error}") from error
        with connected:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            yield cls(connected, timeout_s)

    def exchange(self, request: bytes) -> bytes:
        """Send a request and return the next response."""
        self.send(request)
        return self.receive()

    def send(self, request: bytes) -> None:
        self.send_unframed(_LENGTH.pack(len(request)) + request)

    def send_unframed(self, data: bytes) -> None:
        """Send arbitrary bytes: partial frames, wrong lengths, garbage."""
        self.socket.settimeout(self.timeout_s)
        try:
            self.socket.sendall(data)
        except TimeoutError as error:
            raise NoAnswer(f"the peer did not take {len(data)} bytes in {self.timeout_s} s") from error
        except OSError as error:
            raise ClosedByPeer(f"while sending: {error}") from error

    def receive(self) -> bytes:
        """Return the next response without its length."""
        deadline = time.monotonic() + self.timeout_s
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size, deadline))
        if not 0 <= length <= _ANSWER_BYTES_MAX:
            raise BadFrame(f"a frame of {length} bytes was announced")
        return self._read(length, deadline)

    def closes(self) -> bool:
        """Whether the peer closes the connection within the timeout without sending another byte."""
        try:
            came = self._read(1, time.monotonic() + self.timeout_s)
        except ClosedByPeer:
            return True
        except NoAnswer:
            return False
        raise BadFrame(f"the peer was to close and sent {came!r}")

    def _read(self, count: int, deadline: float) -> bytes:
        parts: list[bytes] = []
        missing = count
        while missing:
            parts.append(self._read_some(missing, deadline))
            missing -= len(parts[-1])
        return b"".join(parts)

    def _read_some(self, most: int, deadline: float) -> bytes:
        remaining_s = deadline - time.monotonic()
        if remaining_s <= 0:
            raise NoAnswer(f"{most} bytes were still missing after {self.timeout_s} s")
        self.socket.settimeout(remaining_s)
        try:
            came = self.socket.recv(min(most, _CHUNK_BYTES))
        except TimeoutError as error:
            raise NoAnswer(f"{most} bytes were still missing after {self.timeout_s} s") from error
        except OSError as error:
            raise ClosedByPeer(f"while receiving: {error}") from error
        if not came:
            raise ClosedByPeer(f"with {most} bytes of a frame missing")
        return came
