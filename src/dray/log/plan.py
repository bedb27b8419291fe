"""Plan of one commit: offsets for stored batches. Pure.

The plan is made from cached heads and checks every head's version, so a plan made from stale heads cannot be
committed; it is then made again from the store. Sequence numbers are checked and offsets assigned here
together, because only here the order of batches is known. A rejection is returned under the same version
check: against a stale head it might be wrong.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from dray.formats.wal_v1 import PlacedChunk
from dray.ids import MetaDomain, StreamId
from dray.index import (
    BatchDraft,
    Chunk,
    StreamHead,
    WalEntry,
    WalObject,
    assign,
    encode_entry,
    encode_head,
    encode_object,
)
from dray.keyspace import entry_key, head_key, producers_key, staging_key, wal_object_key
from dray.log.errors import LogError, SequenceRejected
from dray.log.lost_sequences import LostSequences
from dray.log.settings import LogSettings
from dray.log.stages import Appended, SealedChunk, Stored
from dray.meta.port import Check, Delete, Put, Version, Write
from dray.producers import (
    NO_PRODUCER,
    Duplicate,
    ProducerBatch,
    ProducerState,
    ProducerTable,
    Reject,
    accepted,
    check_sequence,
    encode_snapshot,
    unexpired,
)


class StreamState(msgspec.Struct, frozen=True):
    """A stream as this process knows it, valid only at the version it was read at."""

    head: StreamHead
    version: Version
    producers: ProducerTable


Outcome = Appended | LogError


@dataclass(slots=True)
class CommitPlan:
    """Checks and writes of one commit, and the outcomes of its batches once it is committed."""

    checks: list[Check] = field(default_factory=list)
    writes: list[Write] = field(default_factory=list)
    outcomes: list[list[list[Outcome]]] = field(default_factory=list)
    """By stored object, chunk and batch."""
    entries: list[WalEntry] = field(default_factory=list)
    appended: dict[StreamId, StreamState] = field(default_factory=dict)
    """Streams after the commit; their versions are still those before it."""
    head_writes: dict[StreamId, int] = field(default_factory=dict)
    """Index of the write that is a stream's head."""

    rejected: dict[StreamId, Version] = field(default_factory=dict)
    """Streams with duplicates or rejected batches, whose outcomes hold only for these heads."""


def plan_commit(
    domain: MetaDomain,
    stored: Sequence[Stored],
    states: Mapping[StreamId, StreamState | LogError],
    *,
    lost: LostSequences,
    now_ms: int,
    settings: LogSettings,
    writes_max: int,
) -> CommitPlan:
    """Plan the commit of `stored`, in that order; `states` holds every stream in them.

    The commit has snapshots of producers only as far as `writes_max` leaves space for them.
    """
    planner = _Planner(domain, states, lost, now_ms)
    for wal in stored:
        planner.take(wal)
    planner.finish(settings, writes_max)
    return planner.plan


class _Planner:
    """Goes through the stored objects once, advancing every stream as it goes."""

    def __init__(
        self,
        domain: MetaDomain,
        states: Mapping[StreamId, StreamState | LogError],
        lost: LostSequences,
        now_ms: int,
    ) -> None:
        self.plan = CommitPlan()
        self._domain = domain
        self._lost = lost
        self._now_ms = now_ms
        self._known = dict(states)

    def take(self, wal: Stored) -> None:
        entries_before = len(self.plan.entries)
        self.plan.outcomes.append(
            [
                self._take_chunk(wal, chunk, placed)
                for chunk, placed in zip(wal.sealed.chunks, wal.placed, strict=True)
            ]
        )
        references = len(self.plan.entries) - entries_before
        if references:
            self._record_object(wal, references)

    def finish(self, settings: LogSettings, writes_max: int) -> None:
        self._write_snapshots(settings, writes_max - len(self.plan.writes) - len(self.plan.appended))
        for stream, state in self.plan.appended.items():
            self._write_head(stream, state)
        for stream, version in self.plan.rejected.items():
            if stream not in self.plan.appended:
                self.plan.checks.append(Check(head_key(stream), version))

    def _take_chunk(self, wal: Stored, chunk: SealedChunk, placed: PlacedChunk) -> list[Outcome]:
        state = self._known[chunk.stream]
        if isinstance(state, LogError):
            return [state] * len(chunk.pendings)
        checked = _CheckedBatches(chunk.stream, state, self._lost, self._now_ms)
        for draft in chunk.batch_drafts(placed):
            checked.take(draft)
        if len(checked.taken) < len(checked.outcomes):
            self.plan.rejected[chunk.stream] = state.version
        if checked.taken:
            place = Chunk(
                chunk.stream,
                wal.reservation.wal_id,
                wal.reservation.path,
                placed.chunk_offset,
                placed.chunk_length,
                wal.size_bytes,
            )
            self._append(state, place, checked)
        return checked.outcomes

    def _append(self, state: StreamState, place: Chunk, checked: "_CheckedBatches") -> None:
        head, entry = assign(state.head, place, checked.taken, self._now_ms)
        appended = StreamState(_account(head, entry, checked.tracked), state.version, checked.producers)
        self._known[place.stream] = self.plan.appended[place.stream] = appended
        self.plan.entries.append(entry)
        key = entry_key(place.stream, entry.end_offset, entry.cumulative_size)
        self.plan.writes.append(Put(key, encode_entry(entry)))

    def _record_object(self, wal: Stored, references: int) -> None:
        reserved = wal.reservation
        marker = staging_key(self._domain, reserved.wal_id)
        record = WalObject(reserved.path, references, self._now_ms, wal.size_bytes)
        self.plan.checks.append(Check(marker, reserved.marker))
        self.plan.writes.append(Delete(marker))
        self.plan.writes.append(Put(wal_object_key(self._domain, reserved.wal_id), encode_object(record)))

    def _write_snapshots(self, settings: LogSettings, most: int) -> None:
        """Write the snapshots that are due, and if not all can be, those that have waited longest."""
        entries = settings.producer_snapshot_entries
        due = [
            (state.head.unsnapshotted, stream)
            for stream, state in self.plan.appended.items()
            if state.head.unsnapshotted >= entries
        ]
        for _, stream in sorted(due, reverse=True)[: max(most, 0)]:
            state, put = with_snapshot(stream, self.plan.appended[stream], self._now_ms, settings)
            self.plan.appended[stream] = state
            self.plan.writes.append(put)

    def _write_head(self, stream: StreamId, state: StreamState) -> None:
        key = head_key(stream)
        self.plan.checks.append(Check(key, state.version))
        self.plan.head_writes[stream] = len(self.plan.writes)
        self.plan.writes.append(Put(key, encode_head(state.head)))


class _CheckedBatches:
    """The batches of one chunk, checked in order against the stream's producers."""

    def __init__(self, stream: StreamId, state: StreamState, lost: LostSequences, now_ms: int) -> None:
        self.taken: list[BatchDraft] = []
        self.outcomes: list[Outcome] = []
        self.producers: ProducerTable = state.producers
        self.tracked = False
        self._overlay: dict[int, ProducerState] | None = None
        self._stream = stream
        self._lost = lost
        self._head = state.head
        self._next = state.head.high_watermark
        self._now_ms = now_ms

    def take(self, draft: BatchDraft) -> None:
        if draft.producer_id > NO_PRODUCER and not self._check_sequence(draft):
            return
        self.outcomes.append(Appended(self._next, self._head.log_start))
        self.taken.append(draft)
        self._next += draft.offset_count

    def _check_sequence(self, draft: BatchDraft) -> bool:
        batch = ProducerBatch(
            draft.producer_id, draft.producer_epoch, draft.base_sequence, draft.offset_count
        )
        known = self.producers.get(draft.producer_id)
        first = self._lost.first(self._stream, batch.producer_id, batch.epoch)
        verdict = check_sequence(known, batch, begins_with=first)
        if isinstance(verdict, Reject):
            self.outcomes.append(SequenceRejected(verdict.reason, verdict.message))
            return False
        if isinstance(verdict, Duplicate):
            at, log_start = verdict.base_offset, self._head.log_start
            self.outcomes.append(Appended(at, log_start, duplicate=True, newest_ms=verdict.timestamp_ms))
            return False
        self._remember(draft, batch, known)
        return True

    def _remember(self, draft: BatchDraft, batch: ProducerBatch, known: ProducerState | None) -> None:
        if self._overlay is None:
            self._overlay = dict(self.producers)
            self.producers = self._overlay
        self.tracked = True
        self._overlay[batch.producer_id] = accepted(
            known,
            batch,
            base_offset=self._next,
            timestamp_ms=draft.max_timestamp_ms,
            now_ms=self._now_ms,
        )


def _account(head: StreamHead, entry: WalEntry, tracked: bool) -> StreamHead:
    """Count the entries to replay for producer state; none, while no producer is tracked."""
    if tracked or head.unsnapshotted:
        return msgspec.structs.replace(head, unsnapshotted=head.unsnapshotted + 1)
    return msgspec.structs.replace(head, snapshot_end=entry.end_offset)


def with_snapshot(
    stream: StreamId, state: StreamState, now_ms: int, settings: LogSettings
) -> tuple[StreamState, Put]:
    """Return the state with nothing left to replay, and the write of the snapshot that replaces it."""
    producers = unexpired(state.producers, now_ms, settings.producer_id_expiration_ms)
    head = msgspec.structs.replace(state.head, snapshot_end=state.head.high_watermark, unsnapshotted=0)
    put = Put(producers_key(stream), encode_snapshot(producers))
    return StreamState(head, state.version, producers), put
