"""Bulk loads: many WAL objects, written by processes that know only the object store, made visible at once.

    begin ─▶ objects are written ─▶ commit ─▶ visible           (give_up ─▶ nothing)

What the record of a load is and how it keeps the sweep away is told in `index.loads`; how offsets are given,
in `bulk_plan`. Here is the order of steps.

*One domain*: one commit checks the record and the heads of all streams, adds all entries, and turns the
record to `committed`. Whoever tries it again, after a lost answer or in another process, finds that.

*Several domains*: each has its own commit, so there are moments in which a part can be seen. Before the
first, the *manifest* (what is to be made visible) is written beside the objects, and the record in the home
domain turns to `publishing`. From then on the load is going to be visible as a whole: should this process
die, the sweep of any broker finishes it from the manifest. What could still refuse it is tried before: every
domain is sent its commit with checks that cannot hold together, which a store refuses as a conflict, or for
its size.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Final, TypeVar

import msgspec

from dray.ids import StreamId, TopicRef, meta_domain
from dray.index import CorruptValue
from dray.index.loads import Load, LoadId, LoadState, load_folder, manifest_path
from dray.log.bulk_commit import Beaten, DomainCommit, LoadParts
from dray.log.bulk_plan import Given, LoadedObject
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
    """Begins loads and brings them to an end."""

    def __init__(self, parts: LoadParts) -> None:
        self._parts = parts
        self._records = LoadRecords(parts.meta, parts.clock)

    async def begin(
        self, load_id: LoadId, topic: TopicRef, streams: Sequence[StreamId], keep_ms: int
    ) -> Load:
        """Let objects be written for these streams; unless committed, they are deleted after `keep_ms`.

        The home's record comes first: a record elsewhere without one in the home belongs to no load.
        """
        now_ms = self._parts.clock.now_ms()
        domains = sorted({meta_domain(stream, self._parts.domains) for stream in streams})
        load = Load(topic, tuple(domains), LoadState.OPEN, now_ms, now_ms, now_ms + keep_ms)
        for domain in domains:
            await self._records.make(domain, load_id, load)
        return load

    async def commit(
        self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]
    ) -> dict[StreamId, Given]:
        """Make the objects visible in their order, once however often it is called.

        Returns the offsets that this call gave. After `NotStored` and `StreamUnknown` nothing is visible, nor
        will be. After `OutcomeUncertain`, `give_up` tells.
        """
        with _sorted_errors():
            if len(load.domains) > 1:
                await self._decide(load_id, load, objects)
            return await self._publish(load_id, load, objects)

    async def finish(self, load_id: LoadId, load: Load) -> None:
        """Make visible what somebody decided to, and did not get done."""
        with _sorted_errors():
            manifest = await self._parts.objects.get(manifest_path(load_id))
            await self._publish(load_id, load, _manifests.decode(manifest))
            await self._parts.objects.delete(manifest_path(load_id))

    async def give_up(self, load_id: LoadId, load: Load) -> bool:
        """Delete what was written, unless it is visible or is going to be; returns whether it was deleted."""
        while True:
            home = await self._records.read(load.home, load_id)
            if home is None or home.load.state is LoadState.CONDEMNED:
                break
            if home.load.state is not LoadState.OPEN:
                return False
            await self._records.turn(home, LoadState.CONDEMNED)
        await self._delete(load_folder(load_id))
        for domain in reversed(load.domains):
            stored = await self._records.read(domain, load_id)
            if stored is not None:
                await self._records.forget(stored)
        return True

    async def tidy(self, load_id: LoadId, objects: Sequence[LoadedObject]) -> None:
        """Delete what a committed load has besides its objects: from attempts of tasks that did not count."""
        with suppress(ObjectError):  # the sweep comes by anyway
            await self._delete(load_folder(load_id), kept={wal.path for wal in objects})

    # Several domains

    async def _decide(self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]) -> None:
        """See to it that the load will be published as a whole."""
        if (await self._records.under_way(load.home, load_id)).load.state is not LoadState.OPEN:
            return
        for domain in load.domains:
            await DomainCommit(self._parts, domain, load_id, objects).rehearse()
        with suppress(AlreadyExists):
            await self._parts.objects.put_new(manifest_path(load_id), [_encoder.encode(list(objects))])
        await self._patiently(partial(self._turn_to_publishing, load_id, load))

    async def _turn_to_publishing(self, load_id: LoadId, load: Load) -> None:
        home = await self._records.under_way(load.home, load_id)
        if home.load.state is LoadState.OPEN and not await self._records.turn(home, LoadState.PUBLISHING):
            raise Beaten("the load's record was changed by another process")

    # The commit

    async def _publish(
        self, load_id: LoadId, load: Load, objects: Sequence[LoadedObject]
    ) -> dict[StreamId, Given]:
        """Commit in every domain, in the home last: what is committed there is committed everywhere."""
        given: dict[StreamId, Given] = {}
        for domain in (*load.domains[1:], load.home):
            given |= await self._patiently(DomainCommit(self._parts, domain, load_id, objects).attempt)
        return given

    async def _patiently(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Try at once after a lost race: that somebody won it is progress. Wait for a store that is away."""
        clock = self._parts.clock
        deadline = clock.monotonic() + self._parts.patience_s
        while True:
            try:
                return await attempt()
            except (Beaten, Unavailable, OutcomeUnknown) as error:
                if clock.monotonic() >= deadline:
                    raise
                pause_s = 0.0 if isinstance(error, Beaten) else _PAUSE_S
            await clock.sleep(pause_s)

    async def _delete(self, folder: str, kept: Collection[str] = ()) -> None:
        doomed = [info.path async for info in self._parts.objects.list(folder) if info.path not in kept]
        for path in doomed:
            await self._parts.objects.delete(path)


def new_load_id(now_ms: int, entropy: Entropy) -> LoadId:
    """Return an id that sorts by time and never comes twice."""
    return LoadId(new_wal_id(now_ms, entropy))


@contextmanager
def _sorted_errors() -> Iterator[None]:
    try:
        yield
    except CommitTooLarge as error:
        raise NotStored(f"the load is too large for one commit, split it into several: {error}") from error
    except CorruptValue as error:
        raise LogDamaged(str(error), RESTORE_METADATA) from error
    except (MetaError, ObjectError, Beaten) as error:
        raise OutcomeUncertain(f"the load may or may not have been committed: {error}") from error
