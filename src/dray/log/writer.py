"""The write path of one meta domain.

    append ─▶ open object ─seal─▶ queue ─▶ uploads, several at a time ─▶ commits, one at a time, in seal order

`sealing` decides when the open object is sealed. Each sealed object has a task that uploads it. One more task
runs while the queue holds anything: it waits until the first object is uploaded, then for brokers that share
its streams (see `alternation`), and commits it with those after it that are uploaded as well.

A failed upload or commit fails only its own batches; later objects are not affected. An idempotent producer's
later batches are then refused as out of sequence, and its client sends all of them again, as with Kafka.

Decisions are made in plain functions, between two awaits. However a task ends, its batches get an outcome and
the queue moves on.
"""

import asyncio
from asyncio import Task
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from dray.ids import MetaDomain, StreamId
from dray.log.commit import Committer
from dray.log.commit_limits import writes_of
from dray.log.deps import LogDeps
from dray.log.errors import LogClosed, LogError, NotStored, OutcomeUncertain
from dray.log.flushes import Flushes
from dray.log.sealing import Sealer
from dray.log.stages import Pending, Sealed, Stored
from dray.log.upload import Uploader
from dray.runtime import ByteBudget, SupervisorStopped


class _InFlight(NamedTuple):
    """A sealed object that is being uploaded or waits for its commit."""

    sealed: Sealed
    upload: "Task[Stored | LogError]"


class DomainWriter:
    """Takes batches of one domain's streams and makes them durable, visible and acknowledged."""

    def __init__(
        self,
        domain: MetaDomain,
        deps: LogDeps,
        uploader: Uploader,
        committer: Committer,
        *,
        budget: ByteBudget,
        flushes: Flushes,
    ) -> None:
        self._domain = domain
        self._settings = deps.settings
        self._writes_max = deps.meta.limits.writes_max
        self._tasks = deps.tasks
        self._uploader = uploader
        self._committer = committer
        self._budget = budget
        self._flushes = flushes
        self._sealer = Sealer(self._settings, self, flushes, self._start_upload)
        self._queue: deque[_InFlight] = deque()
        self._uploaded = asyncio.Event()
        self._commit_loop: Task[None] | None = None
        self._committing = 0
        """How many objects at the front of the queue are in the commit under way."""
        self._closed = False

    def append(self, stream: StreamId, pending: Pending) -> None:
        """Take a batch that the budget has admitted; `pending.done` gets its outcome."""
        if self._closed:
            raise LogClosed("this log is closed; append through another broker")
        self._sealer.add(stream, pending)

    def stop_accepting(self) -> None:
        """Stop accepting batches."""
        self._closed = True

    async def close(self) -> None:
        """Stop accepting batches, and wait until every accepted batch has its outcome."""
        self.stop_accepting()
        self._sealer.seal_rest()
        while self._commit_loop is not None:
            await asyncio.wait([self._commit_loop])
        await self._uploader.close()

    # In flight, for the sealer

    @property
    def idle(self) -> bool:
        return not self._queue

    @property
    def all_committing(self) -> bool:
        return len(self._queue) == self._committing

    @property
    def saturated(self) -> bool:
        return self._uploader.saturated

    # Uploading

    def _start_upload(self, sealed: Sealed) -> None:
        try:
            upload = self._tasks.start(self._uploader.upload(sealed), name=f"upload-{self._domain}")
        except SupervisorStopped as error:
            self._finish(sealed, _stopping(error))
            return
        upload.add_done_callback(self._upload_ended)
        self._queue.append(_InFlight(sealed, upload))
        self._flushes.begun()
        if self._commit_loop is None:
            self._start_commit_loop()

    def _upload_ended(self, _: object) -> None:
        self._uploaded.set()
        self._sealer.seal_if_lingered()

    # Committing

    async def _commit_in_order(self) -> None:
        """Commit uploaded objects from the front of the queue until it is empty."""
        while self._queue:
            uploaded = await self._first_upload()
            if isinstance(uploaded, LogError):
                self._dequeue(1, uploaded)
            else:
                await self._committer.wait_for_others()
                await self._commit(self._ready())
            self._sealer.seal_if_idle()

    async def _first_upload(self) -> Stored | LogError:
        """Wait for the upload of the first object in the queue."""
        upload = self._queue[0].upload
        while not upload.done():
            self._uploaded.clear()
            await self._uploaded.wait()
        return _outcome(upload)

    def _ready(self) -> list[Stored]:
        """Return the uploaded objects at the front of the queue, as many as make a commit of bounded size."""
        ready: list[Stored] = []
        streams = batches = 0
        for in_flight in self._queue:
            uploaded = _outcome(in_flight.upload) if in_flight.upload.done() else None
            if not isinstance(uploaded, Stored):
                break
            streams += len(uploaded.sealed.chunks)
            batches += uploaded.sealed.batch_count
            too_many = (
                streams > self._settings.streams_per_object_max
                or batches > self._settings.batches_per_object_max
                or writes_of(streams, objects=len(ready) + 1) > self._writes_max
            )
            if ready and too_many:
                break
            ready.append(uploaded)
        return ready

    async def _commit(self, ready: Sequence[Stored]) -> None:
        self._committing = len(ready)
        self._sealer.seal_if_large()
        self._commit_ended(await self._committer.commit(ready))

    def _commit_ended(self, error: LogError | None) -> None:
        count, self._committing = self._committing, 0
        self._dequeue(count, error)

    def _start_commit_loop(self) -> None:
        try:
            self._commit_loop = self._tasks.start(self._commit_in_order(), name=f"commit-{self._domain}")
        except SupervisorStopped as error:
            self._dequeue(len(self._queue), _stopping(error))
            self._sealer.seal_if_idle()
        else:
            self._commit_loop.add_done_callback(self._commit_loop_ended)

    def _commit_loop_ended(self, loop: "Task[None]") -> None:
        """Start the loop again if a failure interrupted it, or an object was sealed since it ended."""
        self._commit_loop = None
        self._commit_ended(_task_error(loop, OutcomeUncertain))
        if self._queue:
            self._start_commit_loop()

    def _dequeue(self, count: int, error: LogError | None) -> None:
        """Remove the first objects from the queue; with `error`, none of their batches was committed."""
        for _ in range(count):
            self._finish(self._queue.popleft().sealed, error)
        for _ in range(count):  # afterwards, because it may seal objects of other domains
            self._flushes.ended()

    def _finish(self, sealed: Sealed, error: LogError | None) -> None:
        self._budget.release(sealed.held_bytes)
        if error is not None:
            self._committer.fail(sealed, error)


def _outcome(upload: "Task[Stored | LogError]") -> Stored | LogError:
    return _task_error(upload, NotStored) or upload.result()


def _task_error(task: "Task[Any]", kind: type[LogError]) -> LogError | None:
    """Return the error of a task that was interrupted; the supervisor has logged it."""
    if task.cancelled():
        return kind("the log was closed before the batch was acknowledged")
    if task.exception() is not None:
        return kind(f"the batch failed: {task.exception()!r}")
    return None


def _stopping(error: SupervisorStopped) -> NotStored:
    return NotStored(f"this process is stopping, send the batch to another broker: {error}")
