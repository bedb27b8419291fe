"""Lookups by time: the same before and after compaction, for both types of timestamp."""

import pytest
from typing_extensions import override

from dray.ids import StreamId
from dray.index import ParquetEntry, Swap
from dray.log import TimedOffset
from dray.log.settings import LogSettings
from dray.log.swap import Raise, Swapper
from dray.meta.port import ABSENT, Check, CommitLimits, Put
from dray.records import BatchRules, Codec, Record, TimestampType, ValidBatch, encode_batch
from tests.compaction.rounds import Compaction
from tests.log.builders import DOMAIN, ONE, OpenLog, Rig, simulate
from tests.log.compacting import JOB, TOPIC, compact, written
from tests.records.builders import NOW_MS, received, with_fields

COUNT = 3
APPENDED = (0, 1000, 3000, 2000, 3000)
"""When the batches arrive, in milliseconds after the first one. The clock may be set back."""
LOOKUPS = (-1, 0, 1, 1000, 1001, 2000, 2001, 2500, 3000, 3001)


def _batch(kind: TimestampType, number: int, codec: Codec) -> list[Record]:
    """Return the records as consumers read them; with create time, the second one is the latest."""
    at = NOW_MS + APPENDED[number]
    ahead = (0, 2, 1) if kind is TimestampType.CREATE else (0, 0, 0)
    return [Record(n, at + ms, b"k", b"%d" % codec) for n, ms in enumerate(ahead)]


def _model(kind: TimestampType, log_start: int) -> list[TimedOffset | None]:
    """Return what each lookup finds, and the newest record."""
    records = [
        TimedOffset(number * COUNT + n, record.timestamp)
        for number in range(len(APPENDED))
        for n, record in enumerate(_batch(kind, number, Codec.NONE))
    ]
    left = [record for record in records if record.offset >= log_start]
    newest = max(record.timestamp_ms for record in left)
    times = [*(NOW_MS + ms for ms in LOOKUPS), newest]
    return [next((one for one in left if one.timestamp_ms >= time_ms), None) for time_ms in times]


async def _found(opened: OpenLog) -> list[TimedOffset | None]:
    by_time = [await opened.log.find_time(ONE, NOW_MS + ms) for ms in LOOKUPS]
    return [*by_time, await opened.log.find_newest(ONE)]


@pytest.mark.parametrize("log_start", [0, 4, COUNT, 4 * COUNT])
@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
@pytest.mark.parametrize("kind", TimestampType, ids=lambda kind: kind.name)
def test_lookups_find_the_same_records_after_compaction(
    kind: TimestampType, codec: Codec, log_start: int
) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        for number, ms in enumerate(APPENDED):
            batch = encode_batch(_batch(kind, number, codec), codec=codec)
            stored = received(batch, BatchRules(timestamp_type=kind), NOW_MS + ms)
            await (await opened.log.append(ONE, stored))
        await Compaction(rig).run()
        whole, *_ = await rig.entries(ONE)
        assert isinstance(whole, ParquetEntry)
        await (await rig.open("trimmer")).log.trim(ONE, log_start)
        assert await _found(await rig.open("reader")) == _model(kind, log_start)

    simulate(body)


@pytest.mark.parametrize("kind", TimestampType, ids=lambda kind: kind.name)
def test_lookups_find_the_same_records_before_compaction(kind: TimestampType) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        for number, ms in enumerate(APPENDED):
            batch = encode_batch(_batch(kind, number, Codec.LZ4), codec=Codec.LZ4)
            stored = received(batch, BatchRules(timestamp_type=kind), NOW_MS + ms)
            await (await opened.log.append(ONE, stored))
        assert await _found(opened) == _model(kind, 0)

    simulate(body)


@pytest.mark.parametrize("codec", Codec, ids=lambda codec: codec.name)
def test_times_later_than_a_large_batch_states_are_found_from_compaction_on(codec: Codec) -> None:
    """Also in what is appended before and after the swap, and by a broker that had cached the index."""
    times = [NOW_MS + ms for ms in (-50, *range(0, 2000, 100), 500, 600)]
    model = [TimedOffset(offset, at) for offset, at in enumerate(times)]
    lookups = [NOW_MS + ms for ms in (-60, 0, 1, 500, 1000, 1900, 1901, 2500, 2900, 2901)]

    async def body(rig: Rig) -> None:
        opened, other = await rig.open(), await rig.open("other")

        async def append(*batch: TimedOffset, stated: int | None = None) -> None:
            records = [Record(n, one.timestamp_ms, b"k", b"v") for n, one in enumerate(batch)]
            sent = encode_batch(records, codec=codec)
            if stated is not None:
                sent = bytes(with_fields(sent, max_timestamp=stated))
            await (await opened.log.append(ONE, received(sent, BatchRules(), NOW_MS + 60_000)))

        async def check() -> None:
            newest = max(model, key=lambda one: one.timestamp_ms)
            for reader in (opened, other, await rig.open("fresh")):
                assert await reader.log.find_newest(ONE) == newest
                for time_ms in lookups:
                    first = next((one for one in model if one.timestamp_ms >= time_ms), None)
                    assert await reader.log.find_time(ONE, time_ms) == first

        await append(model[0])
        await append(*model[1:21], stated=NOW_MS + 1500)
        await append(model[21])
        await append(model[22])
        assert await other.log.find_newest(ONE) == TimedOffset(16, NOW_MS + 1500), "by the header"
        await compact(rig, until=21)
        await rig.clock.sleep(1)
        await check()
        for ms in (700, 2900):
            model.append(TimedOffset(len(model), NOW_MS + ms))
            await append(model[-1])
            await check()
        await compact(rig, number=2)
        await rig.clock.sleep(1)
        await check()

    simulate(body)


def test_append_during_the_swap_is_raised_too() -> None:
    def sent(*ms: int, stated: int) -> ValidBatch:
        batch = encode_batch([Record(n, NOW_MS + at, b"k", b"v") for n, at in enumerate(ms)])
        return received(with_fields(batch, max_timestamp=NOW_MS + stated), BatchRules(), NOW_MS)

    async def body(rig: Rig) -> None:
        opened = await rig.open()
        await (await opened.log.append(ONE, sent(*range(20), stated=15)))
        raced: list[Raise] = []

        class Raced(Swapper):
            @override
            async def _raised(self, stream: StreamId, swap: Swap, removed: set[str]) -> Raise:
                found = await super()._raised(stream, swap, removed)
                if not raced:
                    await (await opened.log.append(ONE, sent(5, stated=5)))
                raced.append(found)
                return found

        swapper = Raced(rig.meta, DOMAIN, rig.clock, LogSettings())
        file = written(rig, await rig.entries(ONE), 1)
        assert await swapper.swap(ONE, [file], TOPIC, (Check(JOB, ABSENT), Put(JOB, b"done")))
        assert len(raced) == 2
        assert [entry.running_max_timestamp_ms for entry in await rig.entries(ONE)] == [NOW_MS + 19] * 2
        reader = await rig.open("reader")
        assert await reader.log.find_newest(ONE) == TimedOffset(19, NOW_MS + 19)

    simulate(body)


def test_more_entries_than_fit_into_a_commit_are_raised_before_the_swap() -> None:
    """At every moment running maxima grow with the offset, as a lookup that bisects needs."""
    later = 60

    def sent(*ms: int, stated: int) -> ValidBatch:
        batch = encode_batch([Record(n, NOW_MS + at, b"k", b"v") for n, at in enumerate(ms)])
        return received(with_fields(batch, max_timestamp=NOW_MS + stated), BatchRules(), NOW_MS)

    async def body(rig: Rig) -> None:
        rig.limits = CommitLimits(checks_max=20, writes_max=20, bytes_max=100_000)
        opened = await rig.open()
        await (await opened.log.append(ONE, sent(*range(20), stated=15)))
        for _ in range(later):
            await (await opened.log.append(ONE, sent(5, stated=5)))
        before = [entry.running_max_timestamp_ms for entry in await rig.entries(ONE)]
        assert before == [NOW_MS + 15] * (1 + later)
        seen: list[list[int]] = []

        class Watched(Swapper):
            @override
            async def _raised(self, stream: StreamId, swap: Swap, removed: set[str]) -> Raise:
                seen.append([entry.running_max_timestamp_ms for entry in await rig.entries(ONE)])
                return await super()._raised(stream, swap, removed)

        swapper = Watched(opened.meta, DOMAIN, rig.clock, LogSettings())
        file = written(rig, (await rig.entries(ONE))[:1], 1)
        assert await swapper.swap(ONE, [file], TOPIC, (Check(JOB, ABSENT), Put(JOB, b"done")))
        assert seen == [before, [NOW_MS + 15, *[NOW_MS + 19] * later]]
        after = [entry.running_max_timestamp_ms for entry in await rig.entries(ONE)]
        assert after == [NOW_MS + 19] * (1 + later)
        assert await (await rig.open("reader")).log.find_newest(ONE) == TimedOffset(19, NOW_MS + 19)

    simulate(body)
