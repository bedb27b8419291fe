"""Stale heads, irregular watches, and contained damage."""

import asyncio

import pytest

from dray.keyspace import producers_key
from dray.log import LogDamaged, OffsetOutOfRange
from dray.log.index_cache import IndexCache
from dray.meta.port import Put
from tests.log.builders import ONE, STORE_DOMAIN, THREE, TWO, Rig, outcomes, simulated


@simulated
async def test_late_response_of_its_own_commit_does_not_undo_a_trim(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "012":
        await ours.append(tag)
    response = ours.link.hold("commit")
    promise = await ours.send("3")
    await rig.settle()
    await other.log.trim(ONE, 2)
    await rig.settle()
    response.set()
    assert await outcomes(promise) == ["3"]
    with pytest.raises(OffsetOutOfRange):
        await ours.log.read(ONE, 0, 1)


@simulated
async def test_unknown_key_does_not_end_the_watch(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "01":
        await ours.append(tag)
    await rig.meta.commit(STORE_DOMAIN, [], [Put("/dray/v1/streams/odd/head", b"x")])
    await rig.settle()
    await other.log.trim(ONE, 1)
    await rig.settle()
    with pytest.raises(OffsetOutOfRange):
        await ours.log.read(ONE, 0, 1)


@simulated
async def test_late_watch_events_of_own_commits_cause_no_further_reads(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")
    response = opened.link.hold("changes")
    for number in range(5):
        await opened.append(f"{number}")
    asked = opened.link.calls["get"]
    response.set()
    await rig.settle()
    await opened.append("last")
    assert opened.link.calls["get"] == asked


@simulated
async def test_conflict_rereads_only_the_stream_concerned(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    await outcomes(*[await ours.send("x", stream) for stream in (ONE, TWO, THREE)])
    ours.link.faults["changes"] = "refuse"
    await other.append("y", ONE)
    asked = ours.link.calls["get"]
    assert await outcomes(*[await ours.send("x", stream) for stream in (ONE, TWO, THREE)]) == ["2", "1", "1"]
    assert ours.link.calls["get"] - asked == 2


@simulated
async def test_records_before_the_damage_are_readable(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    await opened.append("kept")
    kept = rig.paths()
    await opened.append("missing")
    (missing,) = set(rig.paths()) - set(kept)
    rig.bucket.delete(missing)
    assert await opened.tags() == [(0, 1, "kept")]
    with pytest.raises(LogDamaged):
        await opened.tags(offset=1)


@simulated
async def test_truncated_object_is_damage_not_a_transient_error(rig: Rig) -> None:
    opened = await rig.open(tail_cache_bytes_max=0)
    await opened.append("x")
    (path,) = rig.paths()
    whole = rig.bucket.get(path)
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [whole[:60]])
    with pytest.raises(LogDamaged, match=path):
        await opened.log.read(ONE, 0, 1)


@simulated
async def test_damaged_stream_can_be_deleted(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x")
    await rig.meta.commit(STORE_DOMAIN, [], [Put(producers_key(ONE), b"garbage")])
    await opened.log.delete_stream(ONE)
    assert await rig.committed() == []


@simulated
async def test_time_lookup_survives_a_concurrent_trim(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "012":
        await other.append(tag)
    response = ours.link.hold("get")
    looking = asyncio.create_task(ours.log.find_time(ONE, 1))
    await rig.settle()
    await other.log.trim(ONE, 2)
    response.set()
    found = await looking
    assert found is not None
    assert found.offset == 2


@simulated
async def test_only_adjacent_entries_are_prefetched(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"{number}")
    entries = await rig.entries()
    cache = IndexCache(10_000)
    for entry in (entries[0], entries[1], entries[3]):
        cache.add(entry)
    assert cache.following(entries[0], 4) == [entries[1]]
