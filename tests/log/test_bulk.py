"""Bulk loads: visible atomically and exactly once, despite concurrent commits and lost messages."""

import asyncio
from collections.abc import Sequence

import pytest

from dray.ids import Domain, StreamId, WalId
from dray.index import BatchDraft, Chunk
from dray.log import NotStored, OutcomeUncertain, StreamUnknown
from dray.log.bulk_plan import entries_of
from dray.meta.memory import MemoryMetaStore
from dray.meta.port import Check, CommitTooLarge, Conflict, Versions, Write
from dray.runtime import Tasks
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from tests.log.builders import ONE, THREE, TWO, Rig, simulated
from tests.log.loading import Loader

DOMAINS = 3
"""ONE and THREE are in the first of them, TWO in the second."""


@simulated
async def test_commit_makes_all_streams_grow_at_once(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("before")
    loader = Loader(rig, opened.objects)
    await loader.begin()
    first, second = loader.put("a", ONE, TWO), loader.put("b", ONE, records=3)
    await rig.settle()
    assert await opened.tags(ONE) == [(0, 1, "before")]
    with opened.log.watched([ONE, TWO]) as grown:
        assert await loader.commit(first, second) == {ONE: (1, 6), TWO: (0, 2)}
        await asyncio.wait_for(grown.wait(), 1)
    assert await opened.tags(ONE) == [(0, 1, "before"), (1, 2, "a"), (3, 3, "b")]
    assert await opened.tags(TWO) == [(0, 2, "a")]
    assert sorted(record.references for record in await rig.committed()) == [1, 1, 2]
    assert (await opened.append("after")).base_offset == 6


@simulated
async def test_commit_is_idempotent(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    for domains in (1, DOMAINS):
        streams = (ONE,) if domains == 1 else (ONE, TWO)
        loader = Loader(rig, opened.objects, domains=DOMAINS)
        await loader.begin(streams)
        stored = [loader.put("x", stream) for stream in streams]
        head = (await opened.log.head(ONE)).high_watermark
        assert await loader.commit(*stored) != {}
        another = Loader(rig, opened.objects, domains=DOMAINS)
        another.load_id, another.load = loader.load_id, loader.load
        assert [await loader.commit(*stored), await another.commit(*stored)] == [{}, {}]
        assert (await opened.log.head(ONE)).high_watermark == head + 2


@simulated
async def test_concurrent_commits_of_one_load_apply_once(rig: Rig) -> None:
    opened = await rig.open()
    loader = Loader(rig, opened.objects)
    await loader.begin()
    stored = [loader.put(tag, ONE, TWO) for tag in "abc"]
    given = await asyncio.gather(*(loader.commit(*stored) for _ in range(4)))
    assert sum(one != {} for one in given) == 1
    assert [tag for *_, tag in await opened.tags(TWO)] == ["a", "b", "c"]


@simulated
async def test_commit_succeeds_among_concurrent_producers(rig: Rig) -> None:
    opened = await rig.open()
    odds = SeededEntropy("ways")
    opened.link.slow_by = lambda: odds.uniform(0.0, 0.002)
    loader = Loader(rig, opened.objects, meta=opened.meta)
    await loader.begin()
    stored = [loader.put(f"load{number}", ONE, TWO) for number in range(10)]

    async def produce() -> None:
        for number in range(200):
            await opened.append(f"p{number}", TWO if number % 2 else ONE)

    producing = asyncio.create_task(produce())
    await rig.settle(0.03)
    given = await loader.commit(*stored)
    assert not producing.done(), "the load had to wait for the producers"
    await producing
    await rig.settle()
    for stream in (ONE, TWO):
        tags = await opened.tags(stream)
        assert [start for start, *_ in tags] == _starts(tags)
        start, end = given[stream]
        loaded = [(tag, at) for at, _, tag in tags if tag.startswith("load")]
        assert loaded == [(f"load{number}", start + 2 * number) for number in range(10)]
        assert end - start == 20
        assert len(tags) == 110


def _starts(tags: list[tuple[int, int, str]]) -> list[int]:
    starts, at = [], 0
    for _, count, _ in tags:
        starts.append(at)
        at += count
    return starts


@simulated
async def test_lost_requests_and_responses_duplicate_nothing(rig: Rig) -> None:
    opened = await rig.open()
    often = FaultyLinkSettings(refused=0.1, request_lost=0.2, answer_lost=0.2, late=0.2, late_ms=50)
    link = FaultyLink(SeededEntropy("link"), often)
    meta = MemoryMetaStore(rig.server, rig.clock, SeededEntropy("ids"), tasks=Tasks(), link=link)
    for number in range(5):
        beginner = Loader(rig, opened.objects)
        await beginner.begin((ONE,))
        stored = [beginner.put(f"{number}{tag}", ONE) for tag in "ab"]
        loader = Loader(rig, opened.objects, meta=meta, retry_budget_s=600)
        loader.load_id, loader.load = beginner.load_id, beginner.load
        await loader.commit(*stored)
    assert link.faults > 5
    expected = [f"{number}{tag}" for number in range(5) for tag in "ab"]
    assert [tag for *_, tag in await opened.tags(ONE)] == expected


@simulated
async def test_commit_of_an_aborted_load_fails_with_not_stored(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    loader = Loader(rig, opened.objects, domains=DOMAINS)
    await loader.begin()
    stored = [loader.put("x", ONE, THREE), loader.put("y", TWO)]
    assert await loader.abort()
    assert rig.paths() == []
    with pytest.raises(NotStored, match="ended before it was committed"):
        await loader.commit(*stored)
    assert await loader.abort()
    assert await opened.tags(ONE) == []


@simulated
async def test_abort_leaves_a_committed_load_visible(rig: Rig) -> None:
    """Spark aborts after a commit that failed, although it may have taken effect."""
    opened = await rig.open(tail_cache_bytes_max=0)
    loader = Loader(rig, opened.objects)
    await loader.begin()
    await loader.commit(loader.put("x", ONE))
    assert not await loader.abort()
    assert await opened.tags(ONE) == [(0, 2, "x")]


@simulated
async def test_commit_without_a_store_raises_outcome_uncertain(rig: Rig) -> None:
    opened = await rig.open()
    loader = Loader(rig, opened.objects, meta=opened.meta)
    await loader.begin()
    stored = loader.put("x", ONE)
    opened.link.faults["commit"] = "lose request"
    with pytest.raises(OutcomeUncertain):
        await loader.commit(stored)
    opened.link.faults.clear()
    assert await loader.commit(stored) == {ONE: (0, 2)}


@simulated
async def test_tidy_deletes_objects_of_failed_attempts(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    loader = Loader(rig, opened.objects)
    await loader.begin()
    stored, _ = loader.put("counts", ONE), loader.put("superseded", ONE)
    await loader.commit(stored)
    await loader.loads.tidy(loader.load_id, [stored])
    assert rig.paths() == [stored.path]
    assert await opened.tags(ONE) == [(0, 2, "counts")]


@simulated
async def test_load_fails_if_a_stream_is_deleted_before_its_commit(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    for domains in (1, DOMAINS):
        streams = (ONE, THREE) if domains == 1 else (THREE, TWO)
        loader = Loader(rig, opened.objects, domains=DOMAINS)
        await loader.begin(streams)
        stored = [loader.put("x", stream) for stream in streams]
        await opened.log.delete_stream(streams[0])
        with pytest.raises(StreamUnknown):
            await loader.commit(*stored)
        assert await opened.tags(streams[1]) == []
        assert await loader.abort()
    assert rig.paths() == []


class _Narrow(MemoryMetaStore):
    """Rejects larger commits in the second domain."""

    writes_max = 3

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        if domain == "log-1" and len(writes) > self.writes_max:
            raise CommitTooLarge(f"{len(writes)} writes, {self.writes_max} fit")
        return await super().commit(domain, checks, writes)


@simulated
async def test_load_too_large_for_one_domain_changes_none(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    meta = _Narrow(rig.server, rig.clock, SeededEntropy("narrow"), tasks=Tasks(), link=opened.link)
    loader = Loader(rig, opened.objects, meta=meta, domains=DOMAINS)
    await loader.begin()
    stored = [loader.put("home", ONE), loader.put("x", TWO), loader.put("y", TWO)]
    with pytest.raises(NotStored, match="split"):
        await loader.commit(*stored)
    assert await opened.tags(ONE) == await opened.tags(TWO) == []
    assert await loader.abort()


@simulated
async def test_empty_load_is_committed(rig: Rig) -> None:
    opened = await rig.open(domains=DOMAINS)
    loader = Loader(rig, opened.objects, domains=DOMAINS)
    await loader.begin()
    assert await loader.commit() == {}
    assert (await rig.head(ONE)).high_watermark == 0


@simulated
async def test_load_writes_a_snapshot_of_earlier_producers(rig: Rig) -> None:
    """Without it, every reader of producer state would replay the whole load."""
    opened = await rig.open()
    await opened.produce(0, records=3)
    assert (await rig.head()).unsnapshotted == 1
    loader = Loader(rig, opened.objects)
    await loader.begin()
    await loader.commit(*(loader.put("x", ONE) for _ in range(5)))
    head = await rig.head()
    assert (head.unsnapshotted, head.snapshot_end, head.high_watermark) == (0, 13, 13)
    later = await rig.open("later")
    assert (await later.produce(0, records=3)).duplicate
    assert (await later.produce(3)).base_offset == 13


@simulated
async def test_large_chunk_has_several_entries_and_reads_the_same(rig: Rig) -> None:
    opened = await rig.open(range_cache_bytes_max=0)
    loader = Loader(rig, opened.objects)
    await loader.begin()
    tag = "x" * 100_000
    stored = loader.put(tag, ONE, TWO, records=1, batches=100)
    assert await loader.commit(stored) == {ONE: (0, 100), TWO: (0, 100)}
    entries = await rig.wal_entries(TWO)
    assert [entry.end_offset for entry in entries] == [41, 82, 100]
    assert sum(entry.chunk_length for entry in entries) == (await rig.head(TWO)).cumulative_size
    assert {record.references for record in await rig.committed()} == {6}
    tags = await opened.tags(TWO)
    assert [(start, text == tag) for start, _, text in tags] == [(number, True) for number in range(100)]
    assert await opened.tags(TWO, 77) == tags[77:]


def test_entries_of_a_chunk_cover_it() -> None:
    batches = [
        BatchDraft(position, size, 1, 0, 0, -1, -1, -1) for position, size in ((4, 10), (18, 30), (52, 5))
    ]
    chunk = Chunk(StreamId(9), WalId(bytes(16)), "p", 49, 57)

    def cut(size_bytes: int) -> list[tuple[int, int, list[int]]]:
        entries = entries_of(chunk, batches, size_bytes)
        return [
            (entry.chunk_offset, entry.chunk_length, [row.position for row in entry.rows])
            for entry in entries
        ]

    assert cut(57) == [(49, 57, [4, 18, 52])]
    assert cut(44) == [(49, 14, [4]), (63, 43, [4, 38])]
    assert cut(1) == [(49, 14, [4]), (63, 34, [4]), (97, 9, [4])]
