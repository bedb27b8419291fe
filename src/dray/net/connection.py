"""One client's connection: frames in, answers out, in the order they were asked.

    received ─▶ frames ─▶ begun one after the other ─▶ answered one after the other

A request is *begun* when its place in the order is taken: a produce is begun once its batches are in the
log's buffers, and the next request is begun while it still waits for the disk. Everything else does its work
in its turn, as in Kafka. Answers leave in the order of the requests.

When too much waits to be answered, here or in the whole broker, or the client does not read, the socket is
not read until that has passed.
"""

import asyncio
from collections import deque
from typing import NamedTuple, Protocol, cast

from dray.api.exchange import Answer, CloseConnection, Finish, Peer
from dray.net.frames import FrameTooLarge
from dray.net.inbox import Inbox
from dray.net.intake import Intake
from dray.net.metrics import Cause
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

    def closed(self, connection: "Connection", cause: Cause) -> None: ...


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
        intake: Intake,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._requests = requests
        self._owner = owner
        self._clock = clock
        self._tasks = tasks
        self._inbox = Inbox(scratch, settings, intake, self._read_or_not)
        self._begun: deque[_Begun] = deque()
        self._frame_came = asyncio.Event()
        self._request_begun = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._transport: asyncio.Transport | None = None
        self._work: list[asyncio.Task[None]] = []
        self._cause = Cause.CLIENT
        self.peer = Peer("unknown", 0, self._hang_up)
        self.last_active = clock.monotonic()

    @property
    def idle(self) -> bool:
        """Whether nothing that was asked waits for an answer."""
        return self._inbox.idle

    def lags(self) -> bool:
        """Whether hardly anything has come of the next request since this was asked last."""
        return self._inbox.lags()

    def close(self, cause: Cause, why: str) -> None:
        """Cut the client off."""
        if self._transport is not None and not self._transport.is_closing():
            self._cause = cause
            _log.info("connection_closed", peer=f"{self.peer.host}:{self.peer.port}", cause=cause, why=why)
            self._transport.abort()

    # What the event loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its class
        name = transport.get_extra_info("peername")
        if name:
            self.peer = Peer(str(name[0]), int(name[1]), self._hang_up)
        if not self._owner.opened(self):
            self.close(Cause.TOO_MANY, "there are too many connections")
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
        self._work = []  # a task that was cancelled remembers where, and with that all it had in hand
        self._begun.clear()  # nobody is left to be told; what was taken into the log goes on
        self._inbox.close()  # this object is in cycles and may live on until the collector comes
        self._owner.closed(self, self._cause)

    def get_buffer(self, _: int) -> memoryview:
        return self._inbox.room()

    def buffer_updated(self, count: int) -> None:
        self.last_active = self._clock.monotonic()
        try:
            self._inbox.received(count)
        except FrameTooLarge as error:
            self.close(Cause.TOO_LARGE, str(error))
            return
        self._go_on()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def _work_ended(self, task: "asyncio.Task[None]") -> None:
        """A task that broke (the supervisor has told why) leaves a client without answers: let it go."""
        if not task.cancelled() and task.exception() is not None:
            self.close(Cause.BROKEN, "something broke while it was served")

    # Requests and answers. Each is begun and answered in a call of its own, whose names are gone at its end:
    # a connection that waits for the next request holds nothing of the last one.

    async def _begin_for_ever(self) -> None:
        while True:
            while not self._inbox.frames:
                self._frame_came.clear()
                await self._frame_came.wait()
            if not await self._begin_next():
                return

    async def _begin_next(self) -> bool:
        """Begin a request; false if there is no going on after it."""
        frame = self._inbox.frames.popleft()
        try:
            finish = await self._requests.begin(frame, self.peer)
        except CloseConnection as error:
            self._hang_up(str(error))
            return False
        self._begun.append(_Begun(finish, len(frame)))
        self._request_begun.set()
        return True

    async def _answer_for_ever(self) -> None:
        while True:
            while not self._begun:
                self._request_begun.clear()
                await self._request_begun.wait()
            if not await self._answer_next():
                return

    async def _answer_next(self) -> bool:
        """Answer a request; false if there is no going on after it."""
        begun = self._begun.popleft()
        try:
            await self._send(await begun.finish())
        except CloseConnection as error:
            self._hang_up(str(error))
            return False
        self.last_active = self._clock.monotonic()
        try:
            self._inbox.answered(begun.size)
        except FrameTooLarge as error:  # of what came together with others, and was not looked at then
            self.close(Cause.TOO_LARGE, str(error))
            return False
        self._go_on()
        return True

    def _go_on(self) -> None:
        """Something came or was answered; either may bring requests to be begun."""
        if self._inbox.frames:
            self._frame_came.set()
        self._read_or_not()

    async def _send(self, answer: Answer) -> None:
        if answer is None:
            return
        await self._writable.wait()
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        transport.writelines([memoryview(part) for part in answer])

    def _hang_up(self, why: str) -> None:
        self.close(Cause.REFUSED, why)

    def _read_or_not(self) -> None:
        """Read as long as there is room for what may come."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        wanted = self._inbox.may_read()
        if wanted and not transport.is_reading():
            transport.resume_reading()
        elif not wanted and transport.is_reading():
            transport.pause_reading()
