"""One client's connection: requests in, responses out, in the same order.

    received ─▶ decoded into frames ─▶ begun one after the other ─▶ answered one after the other

A request is *begun* in order: a produce is begun once its batches are in the log's buffers, and the next
request is begun while it still waits for the disk. All other requests do their work when those before them
have been answered, as in Kafka.

The socket is not read while too many requests wait for their responses, on this connection or in the whole
broker, or while the client does not read its responses.

The connection of a throttled client is *muted* (see `mute`): it is not read, and begins and answers nothing.

At shutdown the connection *drains*: it takes no more requests, answers those it has received, and sends the
client an end of stream. It then discards what the client still sends, until the client closes: closing with
unread bytes would reset the connection, and the client could lose responses on their way to it.
"""

import asyncio
from collections import deque
from typing import NamedTuple, cast

from dray.api.exchange import CloseConnection, EncodedResponse, Finish, Peer
from dray.net.budget import BrokerBudget
from dray.net.connection_budget import ConnectionBudget
from dray.net.connection_owner import Accepted, Owner
from dray.net.frames import FrameTooLarge, UnexpectedTls
from dray.net.metrics import Cause
from dray.net.mute import Mute
from dray.net.outgoing import Outgoing
from dray.net.principal_rules import UnmappedSubject
from dray.net.settings import NetSettings
from dray.net.spec import Begin
from dray.runtime import Clock, Tasks


class _Begun(NamedTuple):
    finish: Finish
    size: int


class Connection(asyncio.BufferedProtocol):
    """The protocol object of one socket."""

    def __init__(
        self,
        begin: Begin,
        owner: Owner,
        accepted: Accepted,
        *,
        scratch: memoryview,
        settings: NetSettings,
        budget: BrokerBudget,
        clock: Clock,
        tasks: Tasks,
    ) -> None:
        self._owner = owner
        self._accepted = accepted
        self._scratch = scratch
        self._clock = clock
        self._tasks = tasks
        self._budget = ConnectionBudget(budget, settings, scratch=scratch, memory_free=self._update_reading)
        self._begun: deque[_Begun] = deque()
        self._frame_received = asyncio.Event()
        self._request_begun = asyncio.Event()
        self.outgoing = Outgoing(clock, uses_tls=accepted.spec.tls is not None)
        self._transport: asyncio.Transport | None = None
        self._work: list[asyncio.Task[None]] = []
        self._cause = Cause.CLIENT
        self._draining = False
        self._stream_ended = False
        self._mute = Mute(clock, tasks, self._unmuted)
        self._aborted = False
        spec, client, _ = accepted
        self.peer = Peer(client.host, client.port, self.disconnect, self._throttle, spec.name)
        self.last_active = clock.monotonic()
        self._begin = begin if spec.gate is None else spec.gate(self, begin)

    @property
    def idle(self) -> bool:
        """Whether no request waits for its response."""
        return self._budget.idle

    def is_idle_since(self, oldest: float) -> bool:
        """Return whether the client has been free to send a request since then, and has not."""
        return self.idle and not self._mute.active and self.last_active < oldest

    def is_slow(self) -> bool:
        """Return whether hardly anything of the next request was received since the last call."""
        if self._mute.holds_back(idle=self.idle):
            self._budget.forget_progress()
            return False
        return self._budget.is_slow()

    def drain(self) -> None:
        """Take no more requests; close when those received are answered."""
        self._draining = True
        self._mute.end()
        self._unmuted()
        if self.idle:
            self._end_stream()

    def close(self, cause: Cause, reason: str) -> None:
        """Close the connection, whatever it is doing."""
        if self._may_abort():
            self._owner.closing(self._accepted.client, cause, reason)
            self._abort(cause)

    def disconnect(self, reason: str) -> None:
        self.close(Cause.REFUSED, reason)

    def limit_request(self, bytes_max: int | None) -> None:
        self._budget.limit_request(bytes_max)
        self._mute.limit(is_limited=bytes_max is not None)
        self._update_reading()

    def is_unauthenticated_since(self, moment: float) -> bool:
        """Return whether a gate has limited its requests since then, or longer."""
        return self._mute.is_limited_since(moment)

    def _may_abort(self) -> bool:
        """Return whether it is open, or only waits for the client to close."""
        transport = self._transport
        return not (transport is None or self._aborted) and (self._stream_ended or not transport.is_closing())

    def _abort(self, cause: Cause) -> None:
        assert self._transport is not None
        self._aborted, self._cause = True, cause
        self.outgoing.flush()
        self._transport.abort()

    def _close_after(self, response: EncodedResponse, reason: str) -> None:
        """Close the connection when a last response, if there is one, has been sent."""
        transport = self._transport
        if response is None or transport is None or transport.is_closing():
            self.disconnect(reason)
            return
        self._owner.closing(self._accepted.client, Cause.REFUSED, reason)
        self._cause = Cause.REFUSED
        self.outgoing.send_last(response)

    # Called by the event loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has another class, but all methods
        self.outgoing.transport = self._transport
        if (refused := self._owner.opened(self)) is not None:
            self.close(refused, "the broker takes no more connections")
            return
        try:
            if (tls := self._accepted.spec.tls) is not None:
                self.peer = self.peer._replace(principal=tls.principal(transport))
        except UnmappedSubject as error:
            self.disconnect(str(error))
            return
        self._work = [
            self._tasks.start(self._begin_requests(), name="connection-in"),
            self._tasks.start(self._answer_requests(), name="connection-out"),
        ]
        for task in self._work:
            task.add_done_callback(self._work_ended)

    def connection_lost(self, _: Exception | None) -> None:
        self._mute.end()
        for task in self._work:
            task.cancel()
        self._work = []  # a cancelled task keeps its frame and all its variables alive
        self._begun.clear()  # responses are dropped; batches that the log has taken are still written
        self.outgoing.clear()
        self._accepted.slot.release()
        self._budget.close()  # this object is in reference cycles and may live until the next collection
        self._owner.closed(self, self._cause)

    def get_buffer(self, _: int) -> memoryview:
        return self._scratch if self._stream_ended else self._budget.buffer()

    def buffer_updated(self, count: int) -> None:
        if self._stream_ended:
            return
        self.last_active = self._clock.monotonic()
        try:
            self._budget.received(count)
        except UnexpectedTls as error:
            self._owner.unexpected_tls(self.peer.listener, self._accepted.client, str(error))
            self._abort(Cause.UNEXPECTED_TLS)
            return
        except FrameTooLarge as error:
            self.close(Cause.TOO_LARGE, str(error))
            return
        self._continue()

    def pause_writing(self) -> None:
        self.outgoing.pause()

    def resume_writing(self) -> None:
        self.outgoing.resume(stream_ended=self._stream_ended)

    def _work_ended(self, task: "asyncio.Task[None]") -> None:
        """Close after an unexpected error, which the task supervisor has logged."""
        if not task.cancelled() and task.exception() is not None:
            self.close(Cause.BROKEN, "an unexpected error")

    # Each request is begun and answered in a call of its own, whose local variables are released when it
    # returns: a connection that waits for the next request holds nothing of the last one.

    async def _begin_requests(self) -> None:
        while True:
            while self._mute.active or not self._budget.frames:
                self._frame_received.clear()
                await self._frame_received.wait()
            if not await self._begin_next():
                return

    async def _begin_next(self) -> bool:
        """Begin a request; returns false if the connection was closed instead."""
        frame = self._budget.frames.popleft()
        try:
            finish = await self._begin(frame, self.peer)
        except CloseConnection as error:
            self.disconnect(str(error))
            return False
        self._begun.append(_Begun(finish, len(frame)))
        self._request_begun.set()
        return True

    async def _answer_requests(self) -> None:
        while True:
            while self._mute.active or not self._begun:
                self._request_begun.clear()
                await self._request_begun.wait()
            if not await self._answer_next():
                return

    async def _answer_next(self) -> bool:
        """Answer a request; returns false if the connection was closed instead."""
        begun = self._begun.popleft()
        try:
            response = await begun.finish()
            self._mute.throttled = self._mute.active
            await self.outgoing.until_writable()
            self.outgoing.send(response)
        except CloseConnection as error:
            self._close_after(error.response, str(error))
            return False
        self.last_active = self._clock.monotonic()
        try:
            self._budget.answered(begun.size)
        except FrameTooLarge as error:  # received together with other requests, and decoded only now
            self.close(Cause.TOO_LARGE, str(error))
            return False
        if self._draining or self._transport is None or not self._transport.is_reading():
            self._continue()  # otherwise nothing waited for this answer
        return True

    def _throttle(self, seconds: float) -> None:
        """Mute the connection once the current response is sent; at shutdown nothing is throttled."""
        if self._draining or self._transport is None or self._transport.is_closing():
            return
        self._mute.begin(seconds)
        self._update_reading()

    def _unmuted(self) -> None:
        self.last_active = self._clock.monotonic()
        self._frame_received.set()
        self._request_begun.set()
        self._update_reading()

    def _continue(self) -> None:
        """Continue after bytes were received or a request was answered."""
        if self._budget.frames:
            self._frame_received.set()
        self._update_reading()
        if self._draining and self.idle:
            self._end_stream()

    def _end_stream(self) -> None:
        """Send what is left and the end of stream; from now on wait for the client to close."""
        transport = self._transport
        if self._stream_ended or transport is None or transport.is_closing():
            return
        self._stream_ended, self._cause = True, Cause.STOPPING
        self.outgoing.flush()
        self.outgoing.wait_for_client()
        if not transport.is_reading():
            transport.resume_reading()
        if transport.can_write_eof():
            transport.write_eof()
        else:  # with TLS the event loop sends the end of stream, and waits for that of the client
            transport.close()

    def _update_reading(self) -> None:
        """Read the socket if more may be received, and only then."""
        transport = self._transport
        if transport is None or transport.is_closing() or self._stream_ended:
            return
        wanted = not (self._draining or self._mute.holds_back(idle=self.idle)) and self._budget.may_read()
        if wanted and not transport.is_reading():
            transport.resume_reading()
        elif not wanted and transport.is_reading():
            transport.pause_reading()
