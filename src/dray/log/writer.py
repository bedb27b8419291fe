"""The write path of one meta domain up to the commit: buffer, seal, put, and whose turn it is.

    append ─▶ open buffer ─▶ queue in seal order ─▶ puts in parallel ─▶ one commit at a time, in seal order

What decides is plain code that runs between two awaits; what waits runs in tasks, and whatever way a task
ends, its end is noticed and the queue moves on. Stored objects that wait for their turn are committed
together.

A put or commit that fails fails only its own batches. Objects behind it go on: an idempotent producer's later
batches are then refused as out of sequence, and its client sends them all again, as it does to Kafka.
"""

import asyncio
from asyncio import Future, Task, TimerHandle
from collections import deque

from dray.formats import wal_v1
from dray.ids import StreamId
from dray.log.buffer import OpenBuffer
from dray.log.commit import Committer
from dray.log.errors import LogClosed, LogError, NotStored, OutcomeUncertain
from dray.log.parts import DomainParts
from dray.log.stages import Pending, Reservation, Sealed, Stored
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.runtime import SupervisorStopped


class _Flight:
    """One sealed object on its way."""

    __slots__ = ("result", "sealed")

    def __init__(self, sealed: Sealed) -> None:
        self.sealed = sealed
        self.result: Stored | LogError | None = None


class DomainWriter:
    """Takes batches of one domain's streams and makes them durable, visible and acknowledged."""

    def __init__(self, parts: DomainParts) -> None:
        self._parts = parts
        self._settings = parts.log.settings
        self._committer = Committer(parts)
        self._open = OpenBuffer(parts.log.settings)
        self._queue: deque[_Flight] = deque()
        self._unstarted: deque[_Flight] = deque()
        self._puts = 0
        self._committing = 0
        self._closed = False
        self._linger: TimerHandle | None = None
        self._due = False
        self._idle_check_due = False
        self._drained: list[Future[None]] = []

    def append(self, stream: StreamId, pending: Pending) -> None:
        """Take a batch, whose bytes the budget has let in; `pending.done` will say what became of it."""
        if self._closed:
            raise LogClosed("this log is closed; append through another broker")
        if not self._open.fits(pending):
            self._seal()
        self._open.add(stream, pending)
        if self._open.full or self._may_overlap:
            self._seal()
        elif not self._queue:
            self._check_when_idle()
        elif self._linger is None and not self._due:
            delay = self._settings.linger_ms / 1000
            self._linger = asyncio.get_running_loop().call_later(delay, self._lingered)

    def refuse(self) -> None:
        """Take nothing more."""
        self._closed = True

    async def close(self) -> None:
        """Take nothing more, and wait until everything taken has been answered."""
        self.refuse()
        if self._open:
            self._seal()
        if self._queue:
            drained = asyncio.get_running_loop().create_future()
            self._drained.append(drained)
            await drained
        await self._parts.reservations.release()

    # Sealing

    @property
    def _may_overlap(self) -> bool:
        """Whether the open object is large enough to be written while the one before it is committed.

        Small ones gather meanwhile, because an object costs more than its bytes do.
        """
        return self._open.large and len(self._queue) == self._committing

    def _check_when_idle(self) -> None:
        """Seal after what is already waiting to run has run: requests that came together share an object."""
        if not self._idle_check_due:
            self._idle_check_due = True
            asyncio.get_running_loop().call_soon(self._idle_check)

    def _idle_check(self) -> None:
        self._idle_check_due = False
        if self._open and not self._queue:
            self._seal()

    def _lingered(self) -> None:
        self._linger = None
        self._due = True
        self._seal_if_due()

    def _seal_if_due(self) -> None:
        """Seal what has lingered long enough, once it can be put at once.

        While all puts are taken it would only wait in line, and what comes meanwhile would need objects of
        its own: more of them than can ever be put.
        """
        if self._due and self._open and self._puts < self._settings.puts_in_flight_max:
            self._seal()

    def _seal(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        self._due = False
        flight = _Flight(self._open.seal())
        self._queue.append(flight)
        self._unstarted.append(flight)
        self._start_puts()

    # Object durable

    def _start_puts(self) -> None:
        while self._unstarted and self._puts < self._settings.puts_in_flight_max:
            self._start_put(self._unstarted.popleft())

    def _start_put(self, flight: _Flight) -> None:
        try:
            task = self._parts.log.tasks.start(self._put(flight.sealed), name=f"put-{self._parts.domain}")
        except SupervisorStopped as error:
            flight.result = NotStored(f"the process is stopping, send it to another: {error}")
            asyncio.get_running_loop().call_soon(self._start_commit)
            return
        self._puts += 1
        task.add_done_callback(lambda ended: self._put_ended(flight, ended))

    async def _put(self, sealed: Sealed) -> Stored | LogError:
        try:
            reservation = await self._parts.reservations.take()
            return await self._store(sealed, reservation)
        except LogError as error:
            return error
        except (MetaError, ObjectError) as error:
            failed = NotStored(f"the batch was not stored, send it again: {error}")
            failed.__cause__ = error
            return failed

    async def _store(self, sealed: Sealed, reservation: Reservation) -> Stored:
        log = self._parts.log
        drafts = [chunk.draft() for chunk in sealed.chunks]
        encoded = wal_v1.encode(reservation.wal_id, self._parts.domain, log.clock.now_ms(), drafts)
        started = log.clock.monotonic()
        await log.objects.put_new(reservation.path, encoded.parts)
        log.metrics.flush_seconds.observe(log.clock.monotonic() - started)
        log.metrics.flush_bytes.observe(encoded.size_bytes)
        return Stored(sealed, reservation, encoded.size_bytes, encoded.chunks)

    def _put_ended(self, flight: _Flight, task: "Task[Stored | LogError]") -> None:
        self._puts -= 1
        flight.result = _broken_off(task, NotStored) or task.result()
        self._start_puts()
        self._seal_if_due()
        self._start_commit()

    # Index committed

    def _start_commit(self) -> None:
        if self._committing:
            return
        while self._queue and isinstance(self._queue[0].result, LogError):
            self._leave(self._queue[0].result)
        ready = self._ready()
        if ready:
            self._commit(ready)
            if self._may_overlap:
                self._seal()
        elif not self._queue:
            self._rest()

    def _commit(self, ready: list[Stored]) -> None:
        try:
            task = self._parts.log.tasks.start(
                self._committer.commit(ready), name=f"commit-{self._parts.domain}"
            )
        except SupervisorStopped as error:
            for _ in ready:
                self._leave(NotStored(f"the process is stopping, send it to another: {error}"))
            self._start_commit()
            return
        self._committing = len(ready)
        task.add_done_callback(self._commit_ended)

    def _ready(self) -> list[Stored]:
        """The stored objects at the front, as many as make a commit of bounded size."""
        ready: list[Stored] = []
        streams = batches = 0
        for flight in self._queue:
            if not isinstance(flight.result, Stored):
                break
            streams += len(flight.sealed.chunks)
            batches += flight.sealed.batch_count
            too_many = (
                streams > self._settings.streams_per_object_max
                or batches > self._settings.batches_per_object_max
            )
            if ready and too_many:
                break
            ready.append(flight.result)
        return ready

    def _commit_ended(self, task: "Task[LogError | None]") -> None:
        count, self._committing = self._committing, 0
        error = _broken_off(task, OutcomeUncertain) or task.result()
        for _ in range(count):
            self._leave(error)
        self._start_puts()
        self._start_commit()

    def _leave(self, error: LogError | None) -> None:
        """Let the first object out of the queue; with `error`, nothing of it was committed."""
        flight = self._queue.popleft()
        self._parts.shared.budget.release(flight.sealed.held_bytes)
        if error is not None:
            self._committer.give_up(flight.sealed, error)

    def _rest(self) -> None:
        if self._open:
            self._seal()
            return
        for drained in self._drained:
            if not drained.done():
                drained.set_result(None)
        self._drained.clear()


def _broken_off(
    task: "Task[Stored | LogError] | Task[LogError | None]", kind: type[LogError]
) -> LogError | None:
    """What to say of a task that did not come to its end; the supervisor has told of the failure itself."""
    if task.cancelled():
        return kind("the log was closed while the batch was on its way")
    if task.exception() is not None:
        return kind(f"the batch was given up: {task.exception()!r}")
    return None
