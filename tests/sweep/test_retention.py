"""Retention by time and by size, against a model, and completion of interrupted deletions."""

import asyncio
from functools import partial

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dray.ids import StreamId
from dray.index import StreamHead, WalEntry, assign
from dray.keyspace import head_key
from dray.log import LogSettings, StreamUnknown, Trimmer
from dray.meta.port import Unavailable
from dray.records import BatchRules, Record, encode_batch, validate
from dray.sweep import KEEP_FOREVER, RetentionPolicy, retained_from
from dray.testing.clock import EPOCH_MS
from tests.index.builders import chunk, draft
from tests.log.builders import DOMAIN, ONE, STORE_DOMAIN, TWO, OpenLog, Rig, simulate, simulated
from tests.records.builders import with_fields
from tests.sweep.builders import retention_of

_limits = st.one_of(st.just(KEEP_FOREVER), st.integers(0, 40))


def _entries(made: list[tuple[int, int, int]]) -> tuple[StreamHead, list[WalEntry]]:
    """Return entries of (records, bytes, newest timestamp), each created at 5 ms."""
    head, entries = StreamHead(), []
    for number, (count, size, time_ms) in enumerate(made):
        head, entry = assign(head, chunk(number, size), [draft(count, time_ms=time_ms)], 5)
        entries.append(entry)
    return head, entries


@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 20), st.integers(-1, 40)), max_size=10),
    _limits,
    _limits,
    st.integers(0, 60),
)
def test_retained_from_agrees_with_a_naive_model(
    made: list[tuple[int, int, int]], retention_ms: int, retention_bytes: int, now_ms: int
) -> None:
    """The model removes the first entry while it is too old or the rest alone reaches the size limit."""
    head, entries = _entries(made)
    left = list(entries)
    while left:
        times = [5 if left[0].max_timestamp_ms == -1 else left[0].max_timestamp_ms]
        old = retention_ms != KEEP_FOREVER and now_ms - max(times) > retention_ms
        rest = sum(entry.chunk_length for entry in left[1:])
        much = retention_bytes != KEEP_FOREVER and rest >= retention_bytes
        if not (old or much):
            break
        left.pop(0)
    expected = left[0].start_offset if left else head.high_watermark
    assert retained_from(head, entries, RetentionPolicy(retention_ms, retention_bytes), now_ms) == expected


async def _filled(rig: Rig, times_ms: list[int], stream: StreamId = ONE) -> OpenLog:
    """Return a log of one entry per timestamp, relative to the clock's epoch; -1 stands for no timestamp."""
    opened = await rig.open()
    for time_ms in times_ms:
        at = time_ms if time_ms == -1 else EPOCH_MS + time_ms
        encoded = encode_batch([Record(0, at, None, b"x", ())])
        batch = validate(memoryview(encoded), BatchRules(), rig.clock.now_ms())
        await (await opened.log.append(stream, batch))
    return opened


@settings(max_examples=15)
@given(
    st.lists(st.integers(-1, 2_000), max_size=150),
    st.one_of(st.just(KEEP_FOREVER), st.integers(0, 2_000)),
    st.one_of(st.just(KEEP_FOREVER), st.integers(0, 6_000)),
)
@example([0] * 150 + [1_500] * 30, 500, KEEP_FOREVER)
@example([1_500] * 200, KEEP_FOREVER, 2_000)
def test_retention_trims_to_the_planned_offset_over_many_pages(
    times_ms: list[int], retention_ms: int, retention_bytes: int
) -> None:
    async def body(rig: Rig) -> None:
        opened = await _filled(rig, times_ms)
        policy = RetentionPolicy(retention_ms, retention_bytes)
        await rig.settle(1.5)
        expected = retained_from(await rig.head(), await rig.entries(), policy, rig.clock.now_ms())
        await retention_of(rig, opened, policy).run()
        assert (await rig.head()).log_start == expected
        entries = await rig.entries()
        assert [entry.start_offset for entry in entries] == list(range(expected, len(times_ms)))
        assert len(await rig.committed()) == len(entries)
        assert len(await rig.pending_deletion()) == expected

    simulate(body)


@pytest.mark.parametrize(("first", "newest"), [(-1, -1), (-1, 0), (-2, -2), (-5_000, 0)])
def test_records_without_a_timestamp_expire_by_their_append_time(first: int, newest: int) -> None:
    """Apache Kafka keeps them for as long; the second case is how librdkafka sends them."""
    simulate(partial(_expires_by_append_time, first=first, newest=newest))


async def _expires_by_append_time(rig: Rig, *, first: int, newest: int) -> None:
    opened = await rig.open()
    encoded = encode_batch([Record(0, first, None, b"x", ())])
    sent = with_fields(encoded, base_timestamp=first, max_timestamp=newest)
    await (await opened.log.append(ONE, validate(sent, BatchRules(), rig.clock.now_ms())))
    policy = RetentionPolicy(retention_ms=1_000)
    await rig.settle(1)
    await retention_of(rig, opened, policy).run()
    assert (await rig.head()).log_start == 0
    await rig.settle(0.001)
    await retention_of(rig, opened, policy).run()
    assert (await rig.head()).log_start == 1


@simulated
async def test_each_stream_has_its_own_policy_over_many_pages_of_streams(rig: Rig) -> None:
    opened = await rig.open()
    streams = [StreamId(number) for number in range(1_000, 1_150)]
    for stream in streams:
        await opened.log.create_stream(stream)
    await asyncio.gather(
        *[await opened.send("x", stream, producer_id=1, epoch=0, sequence=0) for stream in streams]
    )
    for stream in streams:
        await opened.log.trim(stream, 0)
    await rig.settle(5)

    def policy_of(stream: StreamId) -> RetentionPolicy:
        return RetentionPolicy(retention_ms=1_000 if stream % 2 else KEEP_FOREVER)

    await retention_of(rig, opened, policy_of).run()
    assert [(await rig.head(stream)).log_start for stream in streams] == [stream % 2 for stream in streams]


@simulated
async def test_concurrent_and_repeated_runs_are_idempotent(rig: Rig) -> None:
    opened, other = await _filled(rig, [0, 1, 2, 5_000]), await rig.open("b")
    await rig.settle(3)
    policy = RetentionPolicy(retention_ms=2_000)
    await asyncio.gather(*(retention_of(rig, log, policy).run() for log in (opened, other)))
    after = (await rig.head(), await rig.entries(), await rig.committed(), await rig.pending_deletion())
    assert after[0].log_start == 3
    await retention_of(rig, opened, policy).run()
    assert after == (
        await rig.head(),
        await rig.entries(),
        await rig.committed(),
        await rig.pending_deletion(),
    )


@simulated
async def test_deletion_of_a_stream_marked_as_deleted_is_completed(rig: Rig) -> None:
    opened = await _filled(rig, [0] * 40)
    opened.link.faults["scan"] = "refuse"
    trimmer = Trimmer(opened.meta, DOMAIN, rig.clock, LogSettings())
    with pytest.raises(Unavailable):
        await trimmer.delete(ONE)
    opened.link.faults.clear()
    assert (await rig.head()).deleted
    with pytest.raises(StreamUnknown):
        await opened.log.head(ONE)
    assert len(await rig.entries()) == 40
    await retention_of(rig, opened, RetentionPolicy()).run()
    assert await rig.meta.get(STORE_DOMAIN, head_key(ONE)) is None
    assert await rig.entries() == []
    assert await rig.committed() == []
    assert (await rig.head(TWO)).high_watermark == 0
