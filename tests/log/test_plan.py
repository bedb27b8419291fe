"""Plan of a commit: complete, checked and dense for any streams and objects."""

from asyncio import Future
from collections import Counter
from typing import NamedTuple, cast

from hypothesis import given
from hypothesis import strategies as st

from dray.formats import wal_v1
from dray.ids import MetaDomain, StreamId, WalId
from dray.index import StreamHead, decode_entry, decode_head, decode_object
from dray.keyspace import head_key, staging_key, wal_object_key
from dray.log import Appended, LogError, LogSettings, SequenceRejected, StreamUnknown
from dray.log.lost_sequences import LostSequences
from dray.log.plan import CommitPlan, StreamState, plan_commit
from dray.log.stages import Pending, Reservation, Sealed, SealedChunk, Stored
from dray.meta.port import Check, Delete, Put, Version
from dray.producers import ProducerBatch, accepted
from dray.testing.sim.batches import tagged_batch

_DOMAIN = MetaDomain(4)
_STREAMS = [StreamId(number) for number in (5, 6, 7)]
_NOW_MS = 1_000


class _Draft(NamedTuple):
    records: int
    producer: int
    sequence: int


_drafts = st.builds(_Draft, st.integers(1, 3), st.sampled_from([-1, -1, 70, 71]), st.integers(0, 4))
_chunks = st.dictionaries(st.sampled_from(_STREAMS), st.lists(_drafts, min_size=1, max_size=4), min_size=1)
_states = st.fixed_dictionaries(
    {stream: st.one_of(st.none(), st.tuples(st.integers(0, 50), st.booleans())) for stream in _STREAMS}
)


def _pending(draft: _Draft) -> Pending:
    known = draft.producer != -1
    batch = tagged_batch(
        "x",
        _NOW_MS,
        records=draft.records,
        producer_id=draft.producer,
        epoch=0 if known else -1,
        sequence=draft.sequence if known else -1,
    )
    return Pending(memoryview(batch.buffer), batch.header, cast("Future[Appended]", None))


def _stored(number: int, chunks: dict[StreamId, list[_Draft]]) -> Stored:
    sealed = [
        SealedChunk(stream, [_pending(one) for one in drafts]) for stream, drafts in sorted(chunks.items())
    ]
    wal_id = WalId(number.to_bytes(16, "big"))
    encoded = wal_v1.encode(wal_id, _DOMAIN, 0, [chunk.draft() for chunk in sealed])
    reservation = Reservation(wal_id, f"wal/{number}", Version(900 + number), 0)
    return Stored(Sealed(tuple(sealed), 0, 0), reservation, encoded.size_bytes, encoded.chunks)


def _state(stream: StreamId, made: tuple[int, bool] | None) -> StreamState | LogError:
    if made is None:
        return StreamUnknown(stream)
    high_watermark, known = made
    producer = accepted(None, ProducerBatch(70, 0, 0, 1), base_offset=0, timestamp_ms=0, now_ms=_NOW_MS)
    return StreamState(
        StreamHead(high_watermark=high_watermark, cumulative_size=high_watermark),
        Version(100 + stream),
        {70: producer} if known else {},
    )


@given(st.lists(_chunks, max_size=4), _states, st.integers(1, 4), st.integers(0, 40))
def test_any_plan_is_complete_checked_and_dense(
    objects: list[dict[StreamId, list[_Draft]]],
    made: dict[StreamId, tuple[int, bool] | None],
    snapshot_entries: int,
    writes_max: int,
) -> None:
    stored = [_stored(number, chunks) for number, chunks in enumerate(objects)]
    states = {stream: _state(stream, one) for stream, one in made.items()}
    plan = plan_commit(
        _DOMAIN,
        stored,
        states,
        lost=LostSequences(),
        now_ms=_NOW_MS,
        settings=LogSettings(producer_snapshot_entries=snapshot_entries),
        writes_max=writes_max,
    )
    assert len({write.key for write in plan.writes}) == len(plan.writes)
    assert len({check.key for check in plan.checks}) == len(plan.checks)
    _check_outcomes(plan, stored, states)
    _check_heads(plan, states)
    _check_objects(plan, stored)


def _check_outcomes(
    plan: CommitPlan, stored: list[Stored], states: dict[StreamId, StreamState | LogError]
) -> None:
    """Check that each batch has its outcome, and accepted ones have consecutive offsets."""
    after = {
        stream: state.head.high_watermark
        for stream, state in states.items()
        if isinstance(state, StreamState)
    }
    turned_away = set()
    for wal, of_wal in zip(stored, plan.outcomes, strict=True):
        for chunk, of_chunk in zip(wal.sealed.chunks, of_wal, strict=True):
            for pending, outcome in zip(chunk.pendings, of_chunk, strict=True):
                if chunk.stream not in after:
                    assert isinstance(outcome, StreamUnknown)
                elif isinstance(outcome, Appended) and not outcome.duplicate:
                    assert outcome.base_offset == after[chunk.stream]
                    after[chunk.stream] += pending.header.record_count
                else:
                    assert isinstance(outcome, Appended | SequenceRejected)
                    assert pending.header.has_producer
                    turned_away.add(chunk.stream)
    assert {stream: state.head.high_watermark for stream, state in plan.appended.items()} == {
        stream: end for stream, end in after.items() if end != _end(states[stream])
    }
    checked = {check.key for check in plan.checks}
    assert {head_key(stream) for stream in turned_away} <= checked


def _check_heads(plan: CommitPlan, states: dict[StreamId, StreamState | LogError]) -> None:
    for stream, place in plan.head_writes.items():
        write, state = plan.writes[place], states[stream]
        assert isinstance(write, Put)
        assert isinstance(state, StreamState)
        assert write.key == head_key(stream)
        assert decode_head(write.key, write.value) == plan.appended[stream].head
        assert Check(write.key, state.version) in plan.checks
        entries = [entry for entry in plan.entries if entry.stream == stream]
        ends = [_end(state), *(entry.end_offset for entry in entries)]
        assert [entry.start_offset for entry in entries] == ends[:-1]
        assert ends[-1] == plan.appended[stream].head.high_watermark
    assert plan.head_writes.keys() == plan.appended.keys() == {entry.stream for entry in plan.entries}


def _check_objects(plan: CommitPlan, stored: list[Stored]) -> None:
    """Check that each object with visible batches leaves staging with one reference per entry."""
    references = Counter(entry.wal_id for entry in plan.entries)
    written = {write.key: write for write in plan.writes}
    for wal in stored:
        wal_id, marker = wal.reservation.wal_id, staging_key(_DOMAIN, wal.reservation.wal_id)
        record = written.get(wal_object_key(_DOMAIN, wal_id))
        if not references[wal_id]:
            assert record is None
            assert marker not in written
            continue
        assert isinstance(record, Put)
        assert decode_object(record.key, record.value).references == references[wal_id]
        assert written[marker] == Delete(marker)
        assert Check(marker, wal.reservation.marker) in plan.checks
    stored_entries = [
        decode_entry(key, write.value)
        for key, write in written.items()
        if "/offset-index/" in key and isinstance(write, Put)
    ]
    assert stored_entries == plan.entries


def _end(state: StreamState | LogError) -> int:
    return state.head.high_watermark if isinstance(state, StreamState) else 0


def test_plan_does_not_modify_its_states() -> None:
    """A plan whose commit conflicts must have no effect."""
    state = _state(_STREAMS[0], (3, True))
    assert isinstance(state, StreamState)
    before = dict(state.producers)
    stored = _stored(1, {_STREAMS[0]: [_Draft(1, 70, 1), _Draft(1, 71, 0)]})
    plan = plan_commit(
        _DOMAIN,
        [stored],
        {_STREAMS[0]: state},
        lost=LostSequences(),
        now_ms=_NOW_MS,
        settings=LogSettings(),
        writes_max=10,
    )
    assert plan.appended[_STREAMS[0]].producers.keys() == {70, 71}
    assert state.producers == before
