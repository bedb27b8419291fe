"""One client's connection: frames in, answers out, in the order they were asked.

    received ─▶ frames ─▶ begun one after the other ─▶ answered one after the other

A request is *begun* when its place in the order is taken: a produce is begun once its batches are in the
log's buffers, and the next request is begun while it still waits for the disk. Everything else does its work
in its turn, as in Kafka. Answers leave in the order of the requests.

When too much waits to be answered, or the client does not read, the socket is not read until that has passed.
"""

import asyncio
from collections import deque
from typing import NamedTuple, Protocol, cast

from dray.api import Answer, CloseConnection, Finish, Peer
from dray.net.frames import FrameCutter, FrameTooLarge
from dray.net.settings import NetSettings
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

_log = get_logger("net")


class Requests(Protocol):
    """What a connection hands its frames to."""

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        """Begin a request; raises `CloseConnection` if there is no answering it."""
        ...


class Owner(Protocol):
    """Who keeps count of connections."""

    def opened(self, connection: "Connection") -> bool:
        """Take note of a connection; false if there is no room for it."""
        ...

    def closed(self, connection: "Connection") -> None: ...


class _Begun(NamedTuple):
    finish: Finish
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
        self._open_requests = 0
        self._open_bytes = 0
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
        return self._open_requests == 0

    def close(self, why: str) -> None:
        """Cut the client off."""
        if self._transport is not None and not self._transport.is_closing():
            _log.info("connection_closed", peer=f"{self.peer.host}:{self.peer.port}", why=why)
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its class
        name = transport.get_extra_info("peername")
        self.peer = Peer(str(name[0]), int(name[1])) if name else self.peer
        if not self._owner.opened(self):
            self.close("there are too many connections")
            return
        self._work = [
            self._tasks.start(self._begin_for_ever(), name="connection-in"),
            self._tasks.start(self._answer_for_ever(), name="connection-out"),
        ]
        for task in self._work:
            task.add_done_callback(self._work_ended)

    def connection_lost(self, _: Exception | None) -> None:
        for task in self._work:
            task.cancel()
        self._begun.clear()  # nobody is left to be told; what was taken into the log goes on
        self._frames.clear()
        self._cutter.drop()  # this object is in cycles and may live on until the collector comes
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
            self._open_requests += len(frames)
            self._open_bytes += sum(map(len, frames))
            self._frame_came.set()
            self._read_or_not()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _work_ended(self, task: "asyncio.Task[None]") -> None:
        """A task that broke (the supervisor has told why) leaves a client without answers: let it go."""
        if not task.cancelled() and task.exception() is not None:
            self.close("something broke while it was served")

    # Requests and answers

    async def _begin_for_ever(self) -> None:
        while True:
            while not self._frames:
                self._frame_came.clear()
                await self._frame_came.wait()
            frame = self._frames.popleft()
            try:
                finish = await self._requests.begin(frame, self.peer)
            except CloseConnection as error:
                self.close(str(error))
                return
            self._begun.append(_Begun(finish, len(frame)))
            self._request_begun.set()

    async def _answer_for_ever(self) -> None:
        while True:
            while not self._begun:
                self._request_begun.clear()
                await self._request_begun.wait()
            begun = self._begun.popleft()
            try:
                answer = await begun.finish()
            except CloseConnection as error:
                self.close(str(error))
                return
            await self._send(answer)
            self._open_requests -= 1
            self._open_bytes -= begun.size
            self.last_active = self._clock.monotonic()
            self._read_or_not()

    async def _send(self, answer: Answer) -> None:
        if answer is None:
            return
        await self._writable.wait()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.writelines([memoryview(part) for part in answer])

    def _read_or_not(self) -> None:
        """Stop reading while too much waits to be answered."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        full = (
            self._open_bytes > self._settings.in_flight_bytes_max
            or self._open_requests > self._settings.in_flight_requests_max
        )
        if full and transport.is_reading():
            transport.pause_reading()
        elif not full and not transport.is_reading():
            transport.resume_reading()
