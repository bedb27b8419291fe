"""Commit of a bulk load in one domain, retried until it meets no conflict.

Everything it was planned from is kept from one attempt to the next, except what a conflict names: the shorter
the time between reading the heads and the commit, the fewer conflicts it meets.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from dray.ids import LoadId, MetaDomain, StreamId
from dray.index.loads import LoadState
from dray.keyspace import head_key
from dray.log.bulk_plan import AssignedOffsets, BulkPlan, LoadedObject, plan_bulk
from dray.log.errors import StreamUnknown
from dray.log.load_records import LoadRecords, StoredLoad, store_domain
from dray.log.plan import StreamState
from dray.log.settings import LogSettings
from dray.log.states import read_head, read_state
from dray.meta.port import ABSENT, Check, Conflict, MetaError, MetaStore
from dray.objects.port import ObjectStore
from dray.runtime import Clock, gather_bounded

RETRY_BUDGET_S: Final = 300.0
_READS: Final = 64
"""Streams that are read concurrently."""


@dataclass(frozen=True, slots=True)
class LoadDeps:
    """Dependencies of loads; `objects` retries transient errors."""

    meta: MetaStore
    objects: ObjectStore
    domains: int
    clock: Clock
    settings: LogSettings
    retry_budget_s: float = RETRY_BUDGET_S
    """How long to retry a commit after conflicts and errors of the store."""


class CommitConflict(Exception):
    """Another process committed to one of the streams, or to the load, in between."""


class DomainCommit:
    """The part of a load in one domain; `objects` may include those of other domains."""

    def __init__(
        self, deps: LoadDeps, domain: MetaDomain, load_id: LoadId, objects: Iterable[LoadedObject]
    ) -> None:
        self._deps = deps
        self._domain = domain
        self._store_domain = store_domain(domain)
        self._load_id = load_id
        self._objects = [wal for wal in objects if wal.domain == domain]
        self._streams = sorted({entry.stream for wal in self._objects for entry in wal.entries})
        self._records = LoadRecords(deps.meta, deps.clock)
        self._record: StoredLoad | None = None
        self._states: dict[StreamId, StreamState | StreamUnknown] = {}

    async def attempt(self) -> dict[StreamId, AssignedOffsets]:
        """Commit. It may be retried after any error: the load's record is checked every time."""
        record = await self._read_record()
        if record.load.state is LoadState.COMMITTED:
            return {}
        await self._read_states()
        plan = self._plan(allow_missing=len(record.load.domains) > 1)
        check, put = self._records.step(record, LoadState.COMMITTED)
        try:
            done = await self._deps.meta.commit(
                self._store_domain, [check, *plan.checks], [*plan.writes, put]
            )
        except MetaError:
            self._forget([record.key, *map(head_key, self._streams)])
            raise
        if isinstance(done, Conflict):
            self._forget(done.keys)
            raise CommitConflict(f"conflicting commits on {', '.join(done.keys)}")
        return plan.assigned

    async def validate(self) -> None:
        """Fail now if the commit could never succeed (its size, a deleted stream)."""
        record = await self._read_record()
        await self._read_states()
        plan = self._plan(allow_missing=False)
        impossible = [Check(record.key, ABSENT), Check(record.key, record.version)]
        rejected = await self._deps.meta.commit(self._store_domain, [*impossible, *plan.checks], plan.writes)
        assert isinstance(rejected, Conflict), "a key cannot be both present and absent"

    def _plan(self, *, allow_missing: bool) -> BulkPlan:
        """Plan from what was read; streams of a topic deleted since the decision are left out."""
        states: dict[StreamId, StreamState] = {}
        for stream in self._streams:
            state = self._states[stream]
            if isinstance(state, StreamState):
                states[stream] = state
            elif not allow_missing:
                raise state
        now_ms = self._deps.clock.now_ms()
        return plan_bulk(self._domain, self._objects, states, now_ms=now_ms, settings=self._deps.settings)

    async def _read_record(self) -> StoredLoad:
        if self._record is None:
            self._record = await self._records.live(self._domain, self._load_id)
        return self._record

    async def _read_states(self) -> None:
        missing = [stream for stream in self._streams if stream not in self._states]
        self._states |= zip(missing, await gather_bounded(self._read_state, missing, _READS), strict=True)

    async def _read_state(self, stream: StreamId) -> StreamState | StreamUnknown:
        """Read a stream's head, and its producers only if they are to be written."""
        try:
            head, version = await read_head(self._deps.meta, self._store_domain, stream)
            if head.unsnapshotted:
                return await read_state(self._deps.meta, self._store_domain, stream)
        except StreamUnknown as unknown:
            return unknown
        return StreamState(head, version, {})

    def _forget(self, keys: Sequence[str]) -> None:
        conflicting = set(keys)
        if self._record is not None and self._record.key in conflicting:
            self._record = None
        for stream in self._streams:
            if head_key(stream) in conflicting:
                self._states.pop(stream, None)
