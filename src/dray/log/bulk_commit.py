"""The commit of a bulk load in one domain, tried again until nobody else commits to its streams in between.

Everything it was planned from is kept from one try to the next, except what a conflict names: the time
between the reading of the heads and the commit is what it loses races by.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dray.ids import MetaDomain, StreamId
from dray.index import head_key
from dray.index.loads import LoadId, LoadState
from dray.log.bulk_plan import BulkPlan, Given, LoadedObject, plan_bulk
from dray.log.errors import StreamUnknown
from dray.log.load_records import LoadRecords, StoredLoad, store_domain
from dray.log.plan import StreamState
from dray.log.settings import LogSettings
from dray.log.states import read_head, read_state
from dray.meta.port import ABSENT, Check, Conflict, MetaError, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock, side_by_side

PATIENCE_S: Final = 300.0
_READS: Final = 64
"""Streams that are read side by side."""


@dataclass(frozen=True, slots=True)
class LoadParts:
    """What loads are given; `objects` tries again what may pass."""

    meta: MetaStore
    objects: ObjectStore
    domains: int
    clock: Clock
    settings: LogSettings
    patience_s: float = PATIENCE_S
    """How long to try a commit that others are always quicker than, or that finds no store."""


class Beaten(Exception):
    """Somebody committed to one of the streams in between."""


class DomainCommit:
    """What one domain is to make visible of a load; `objects` may hold others'."""

    def __init__(
        self, parts: LoadParts, domain: MetaDomain, load_id: LoadId, objects: Iterable[LoadedObject]
    ) -> None:
        self._parts = parts
        self._domain = domain
        self._store_domain = store_domain(domain)
        self._load_id = load_id
        self._objects = [wal for wal in objects if wal.domain == domain]
        self._streams = sorted({entry.stream for wal in self._objects for entry in wal.entries})
        self._records = LoadRecords(parts.meta, parts.clock)
        self._record: StoredLoad | None = None
        self._states: dict[StreamId, StreamState | StreamUnknown] = {}

    async def attempt(self) -> dict[StreamId, Given]:
        """Commit. It may be tried again after anything: the load's record is checked every time."""
        record = await self._read_record()
        if record.load.state is LoadState.COMMITTED:
            return {}
        await self._read_states()
        plan = self._plan(missing_is_fine=len(record.load.domains) > 1)
        check, put = self._records.step(record, LoadState.COMMITTED)
        try:
            done = await self._parts.meta.commit(
                self._store_domain, [check, *plan.checks], [*plan.writes, put]
            )
        except MetaError:
            self._forget([record.key, *map(head_key, self._streams)])
            raise
        if isinstance(done, Conflict):
            self._forget(done.keys)
            raise Beaten(f"others always were there first: {', '.join(done.keys)}")
        return plan.given

    async def rehearse(self) -> None:
        """Have the domain refuse the commit now if it ever would, for its size or a stream that is gone."""
        record = await self._read_record()
        await self._read_states()
        plan = self._plan(missing_is_fine=False)
        impossible = [Check(record.key, ABSENT), Check(record.key, record.version)]
        refused = await self._parts.meta.commit(self._store_domain, [*impossible, *plan.checks], plan.writes)
        assert isinstance(refused, Conflict), "no key is there and not there"

    def _plan(self, *, missing_is_fine: bool) -> BulkPlan:
        """Plan from what was read; streams of a topic deleted since the decision are left out."""
        states: dict[StreamId, StreamState] = {}
        for stream in self._streams:
            state = self._states[stream]
            if isinstance(state, StreamState):
                states[stream] = state
            elif not missing_is_fine:
                raise state
        now_ms = self._parts.clock.now_ms()
        return plan_bulk(self._domain, self._objects, states, now_ms=now_ms, settings=self._parts.settings)

    async def _read_record(self) -> StoredLoad:
        if self._record is None:
            self._record = await self._records.under_way(self._domain, self._load_id)
        return self._record

    async def _read_states(self) -> None:
        missing = [stream for stream in self._streams if stream not in self._states]
        self._states |= zip(missing, await side_by_side(self._read_state, missing, _READS), strict=True)

    async def _read_state(self, stream: StreamId) -> StreamState | StreamUnknown:
        """Read a stream's head, and its producers only if they are to be written."""
        try:
            head, version = await read_head(self._parts.meta, self._store_domain, stream)
            if head.unsnapshotted:
                return await read_state(self._parts.meta, self._store_domain, stream)
        except StreamUnknown as unknown:
            return unknown
        return StreamState(head, version, {})

    def _forget(self, keys: Sequence[str]) -> None:
        told = set(keys)
        if self._record is not None and self._record.key in told:
            self._record = None
        for stream in self._streams:
            if head_key(stream) in told:
                self._states.pop(stream, None)
