"""One client's connection: frames in, answers out, in the order they were asked.

    received ─▶ frames ─▶ begun one after the other ─▶ answered one after the other

A request is *begun* when its place in the order is taken: a produce is begun once its batches are in the
log's buffers, and the next request is begun while it still waits for the disk. Everything else is begun and
done at once, as in Kafka. Answers leave in the order of the requests.

When too much waits to be answered, or the client does not read, the socket is not read until that has passed.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from struct import Struct
from typing import NamedTuple, Protocol

from typing_extensions import Buffer

from dray.net.frames import FrameCutter, FrameTooLarge
from dray.net.settings import NetSettings
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")
_LENGTH = Struct(">i")

Answer = Sequence[Buffer] | None
"""A response's buffers, without the length in front; None: there is none to be sent."""


class CloseConnection(Exception):
    """The client must be cut off; the message says why, for the log."""


class Peer(NamedTuple):
    """Who is at the other end."""

    host: str
    port: int


class Requests(Protocol):
    """What a connection hands its frames to."""

    async def begin(self, frame: memoryview, peer: Peer) -> Awaitable[Answer]:
        """Begin a request; raises `CloseConnection` if there is no answering it."""
        ...


class Owner(Protocol):
    """Who keeps count of connections."""

    def opened(self, connection: "Connection") -> bool:
        """Take note of a connection; false if there is no room for it."""
        ...

    def closed(self, connection: "Connection") -> None: ...


class _Begun(NamedTuple):
    answer: Awaitable[Answer]
    size: int


class Connection(asyncio.BufferedProtocol):
    """The protocol object of one socket."""

    def __init__(
        self,
        requests: Requests,
        owner: Owner,
        *,
        scratch: memoryview,
        settings: NetSettings,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._requests = requests
        self._owner = owner
        self._settings = settings
        self._clock = clock
        self._tasks = tasks
        self._cutter = FrameCutter(scratch, settings.request_bytes_max)
        self._frames: deque[memoryview] = deque()
        self._begun: deque[_Begun] = deque()
        self._bytes = 0
        self._frame_came = asyncio.Event()
        self._request_begun = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self._work: list[asyncio.Task[None]] = []
        self.peer = Peer("unknown", 0)
        self.last_active = clock.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nothing that was asked waits for an answer."""
        return not self._frames and not self._begun

    def close(self, why: str) -> None:
        """Cut the client off."""
        if self._transport is not None and not self._transport.is_closing():
            _log.info("connection_closed", peer=f"{self.peer.host}:{self.peer.port}", why=why)
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        name = transport.get_extra_info("peername")
        self.peer = Peer(str(name[0]), int(name[1])) if name else self.peer
        if not self._owner.opened(self):
            self.close("there are too many connections")
            return
        self._work = [
            self._tasks.start(self._begin_for_ever(), name="connection-in"),
            self._tasks.start(self._answer_for_ever(), name="connection-out"),
        ]

    def connection_lost(self, _: Exception | None) -> None:
        for task in self._work:
            task.cancel()
        self._frames.clear()
        self._owner.closed(self)

    def get_buffer(self, _: int) -> memoryview:
        return self._cutter.room()

    def buffer_updated(self, count: int) -> None:
        self.last_active = self._clock.monotonic()
        try:
            frames = self._cutter.received(count)
        except FrameTooLarge as error:
            self.close(str(error))
            return
        if frames:
            self._frames.extend(frames)
            self._bytes += sum(map(len, frames))
            self._frame_came.set()
            self._read_or_not()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    # Requests and answers

    async def _begin_for_ever(self) -> None:
        while True:
            while not self._frames:
                self._frame_came.clear()
                await self._frame_came.wait()
            frame = self._frames.popleft()
            try:
                answer = await self._requests.begin(frame, self.peer)
            except CloseConnection as error:
                self.close(str(error))
                return
            self._begun.append(_Begun(answer, len(frame)))
            self._request_begun.set()

    async def _answer_for_ever(self) -> None:
        while True:
            while not self._begun:
                self._request_begun.clear()
                await self._request_begun.wait()
            begun = self._begun[0]
            try:
                answer = await begun.answer
            except CloseConnection as error:
                self.close(str(error))
                return
            await self._send(answer)
            self._begun.popleft()
            self._bytes -= begun.size
            self.last_active = self._clock.monotonic()
            self._read_or_not()

    async def _send(self, answer: Answer) -> None:
        if answer is None:
            return
        await self._writable.wait()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        parts = [memoryview(part) for part in answer]
        size = sum(part.nbytes for part in parts)
        transport.writelines([_LENGTH.pack(size), *parts])

    def _read_or_not(self) -> None:
        """Stop reading while too much waits to be answered."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        full = (
            self._bytes > self._settings.in_flight_bytes_max
            or len(self._frames) + len(self._begun) > self._settings.in_flight_requests_max
        )
        if full and transport.is_reading():
            transport.pause_reading()
        elif not full and not transport.is_reading():
            transport.resume_reading()
