"""Bulk loads: many WAL objects, written by processes that reach only the object store, made visible at once.

    begin ─▶ objects are written ─▶ commit ─▶ visible           (abort ─▶ nothing)

`index.loads` describes the record of a load and how it protects its objects from the sweep; `bulk_plan` the
assignment of offsets. This module has the order of steps.

*One domain*: one commit checks the record and the heads of all streams, adds all entries, and changes the
record to `committed`. A retry, after a lost answer or in another process, finds that state.

*Several domains*: each has its own commit, so at times a part of the load is visible. Before the first, the
*manifest* (what is to be made visible) is written beside the objects, and the record in the home domain
becomes `publishing`. From then on the load will become visible as a whole: should this process die, the sweep
of any broker finishes it from the manifest. What could still fail is validated before: every domain is sent
its commit with checks that contradict each other, which a store rejects as a conflict, or for its size.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeVar

import msgspec

from dray.ids import LoadId, StreamId, TopicRef, meta_domain
from dray.index import CorruptValue
from dray.index.loads import Load, LoadState, load_folder, manifest_path
from dray.log.bulk_commit import CommitConflict, DomainCommit, LoadDeps
from dray.log.bulk_plan import AssignedOffsets, LoadedObject
from dray.log.errors import RESTORE_METADATA, LogDamaged, NotStored, OutcomeUncertain
from dray.log.load_records import LoadRecords
from dray.log.reservations import new_wal_id
from dray.meta.port import CommitTooLarge, MetaError, OutcomeUnknown, Unavailable
from dray.objects.port import AlreadyExists, ObjectError
from dray.runtime import Entropy

_PAUSE_S: Final = 0.25

T = TypeVar("T")
_encoder = msgspec.msgpack.Encoder()
_manifests = msgspec.msgpack.Decoder(list[LoadedObject])


class Loads:
    """Begins and ends loads."""

    def __init__(self, deps: LoadDeps) -> None:
        self._deps = deps
        self._records = LoadRecords(deps.meta, deps.clock)

    async def begin(
        self, load_id: LoadId, topic: TopicRef, streams: Sequence[StreamId], keep_ms: int
    ) -> Load:
        """Allow objects to be written for these streams; unless committed, they expire after `keep_ms`.

        The home's record comes first: a record elsewhere without one in the home belongs to no load.
        """
        now_ms = self._deps.clock.now_ms()
        domains = sorted({meta_domain(stream, self._deps.domains) for stream in streams})
        load = Load(topic, tuple(domains), LoadState.OPEN, now_ms, now_ms, now_ms + keep_ms)
        for domain in domains:
            await self._records.make(domain, load_id, load)
        return load

    async def commit(
        self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]
    ) -> dict[StreamId, AssignedOffsets]:
        """Make the objects visible in their order, once however often it is called.

        Returns the offsets that this call assigned. After `NotStored` and `StreamUnknown` nothing becomes
        visible. After `OutcomeUncertain`, `abort` resolves the outcome.
        """
        with _sorted_errors():
            if len(load.domains) > 1:
                await self._decide(load_id, load, objects)
            return await self._publish(load_id, load, objects)

    async def finish(self, load_id: LoadId, load: Load) -> None:
        """Complete the publication that another process decided on and did not complete."""
        with _sorted_errors():
            manifest = await self._deps.objects.get(manifest_path(load_id))
            await self._publish(load_id, load, _manifests.decode(manifest))
            await self._deps.objects.delete(manifest_path(load_id))

    async def abort(self, load_id: LoadId, load: Load) -> bool:
        """Delete what was written, unless it is visible or is going to be; returns whether it was deleted."""
        while True:
            home = await self._records.read(load.home, load_id)
            if home is None or home.load.state is LoadState.CONDEMNED:
                break
            if home.load.state is not LoadState.OPEN:
                return False
            await self._records.transition(home, LoadState.CONDEMNED)
        await self._delete(load_folder(load_id))
        for domain in reversed(load.domains):
            stored = await self._records.read(domain, load_id)
            if stored is not None:
                await self._records.forget(stored)
        return True

    async def tidy(self, load_id: LoadId, objects: Sequence[LoadedObject]) -> None:
        """Delete what a committed load has besides its objects: from failed attempts of tasks."""
        with suppress(ObjectError):  # the sweep deletes them anyway
            await self._delete(load_folder(load_id), kept={wal.path for wal in objects})

    # Several domains

    async def _decide(self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]) -> None:
        """Make sure that the load will be published as a whole."""
        if (await self._records.live(load.home, load_id)).load.state is not LoadState.OPEN:
            return
        for domain in load.domains:
            await DomainCommit(self._deps, domain, load_id, objects).validate()
        with suppress(AlreadyExists):
            await self._deps.objects.put_new(manifest_path(load_id), [_encoder.encode(list(objects))])
        await self._retried(partial(self._start_publishing, load_id, load))

    async def _start_publishing(self, load_id: LoadId, load: Load) -> None:
        home = await self._records.live(load.home, load_id)
        if home.load.state is LoadState.OPEN and not await self._records.transition(
            home, LoadState.PUBLISHING
        ):
            raise CommitConflict("the load's record was changed by another process")

    # The commit

    async def _publish(
        self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]
    ) -> dict[StreamId, AssignedOffsets]:
        """Commit in every domain, in the home last: what is committed there is committed everywhere."""
        assigned: dict[StreamId, AssignedOffsets] = {}
        for domain in (*load.domains[1:], load.home):
            assigned |= await self._retried(DomainCommit(self._deps, domain, load_id, objects).attempt)
        return assigned

    async def _retried(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Retry at once after a conflict, as the other commit was progress; wait for an unavailable store."""
        clock = self._deps.clock
        deadline = clock.monotonic() + self._deps.retry_budget_s
        while True:
            try:
                return await attempt()
            except (CommitConflict, Unavailable, OutcomeUnknown) as error:
                if clock.monotonic() >= deadline:
                    raise
                pause_s = 0.0 if isinstance(error, CommitConflict) else _PAUSE_S
            await clock.sleep(pause_s)

    async def _delete(self, folder: str, kept: Collection[str] = ()) -> None:
        paths = [info.path async for info in self._deps.objects.list(folder) if info.path not in kept]
        for path in paths:
            await self._deps.objects.delete(path)


def new_load_id(now_ms: int, entropy: Entropy) -> LoadId:
    """Return a unique id that sorts by time."""
    return LoadId(new_wal_id(now_ms, entropy))


@contextmanager
def _sorted_errors() -> Iterator[None]:
    try:
        yield
    except CommitTooLarge as error:
        raise NotStored(f"the load is too large for one commit, split it into several: {error}") from error
    except CorruptValue as error:
        raise LogDamaged(str(error), RESTORE_METADATA) from error
    except (MetaError, ObjectError, CommitConflict) as error:
        raise OutcomeUncertain(f"the load may or may not have been committed: {error}") from error
