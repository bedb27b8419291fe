"""Heads that were overtaken on their way, watches that die, and damage that must stay where it is."""

import asyncio

import pytest

from dray.index import producers_key
from dray.log import LogDamaged, OffsetOutOfRange
from dray.log.index_cache import IndexCache
from dray.meta.port import Put
from tests.log.builders import ONE, STORE_DOMAIN, THREE, TWO, Rig, outcomes, simulated


@simulated
async def test_the_answer_of_an_own_commit_does_not_bring_back_a_trimmed_beginning(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "012":
        await ours.append(tag)
    answer = ours.link.hold("commit")
    promise = await ours.send("3")
    await rig.settle()
    await other.log.trim(ONE, 2)
    await rig.settle()
    answer.set()
    assert await outcomes(promise) == ["3"]
    with pytest.raises(OffsetOutOfRange):
        await ours.log.read(ONE, 0, 1)


@simulated
async def test_a_key_nobody_understands_does_not_end_the_watch(rig: Rig) -> None:
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
async def test_own_commits_told_late_do_not_cost_another_look(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("0")
    told = opened.link.hold("changes")
    for number in range(5):
        await opened.append(f"{number}")
    asked = opened.link.calls["get"]
    told.set()
    await rig.settle()
    await opened.append("last")
    assert opened.link.calls["get"] == asked


@simulated
async def test_after_a_conflict_only_the_stream_concerned_is_read_again(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    await outcomes(*[await ours.send("x", stream) for stream in (ONE, TWO, THREE)])
    ours.link.faults["changes"] = "refuse"
    await other.append("y", ONE)
    asked = ours.link.calls["get"]
    assert await outcomes(*[await ours.send("x", stream) for stream in (ONE, TWO, THREE)]) == ["2", "1", "1"]
    assert ours.link.calls["get"] - asked == 2


@simulated
async def test_what_lies_before_the_damage_can_be_read(rig: Rig) -> None:
    opened = await rig.open(recent_bytes_max=0)
    await opened.append("sound")
    sound = rig.paths()
    await opened.append("gone")
    (gone,) = set(rig.paths()) - set(sound)
    rig.bucket.delete(gone)
    assert await opened.tags() == [(0, 1, "sound")]
    with pytest.raises(LogDamaged):
        await opened.tags(offset=1)


@simulated
async def test_an_object_that_is_too_short_is_damage_not_weather(rig: Rig) -> None:
    opened = await rig.open(recent_bytes_max=0)
    await opened.append("x")
    (path,) = rig.paths()
    whole = rig.bucket.get(path)
    rig.bucket.delete(path)
    rig.bucket.put_new(path, [whole[:60]])
    with pytest.raises(LogDamaged, match=path):
        await opened.log.read(ONE, 0, 1)


@simulated
async def test_a_damaged_stream_can_still_be_deleted(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x")
    await rig.meta.commit(STORE_DOMAIN, [], [Put(producers_key(ONE), b"garbage")])
    await opened.log.delete_stream(ONE)
    assert await rig.committed() == []


@simulated
async def test_a_look_for_a_time_goes_on_when_the_beginning_is_trimmed_under_it(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "012":
        await other.append(tag)
    answer = ours.link.hold("get")
    looking = asyncio.create_task(ours.log.find_time(ONE, 1))
    await rig.settle()
    await other.log.trim(ONE, 2)
    answer.set()
    found = await looking
    assert found is not None
    assert found.offset == 2


@simulated
async def test_only_what_comes_right_behind_is_read_ahead(rig: Rig) -> None:
    opened = await rig.open()
    for number in range(4):
        await opened.append(f"{number}")
    entries = await rig.entries()
    cache = IndexCache(10_000)
    for entry in (entries[0], entries[1], entries[3]):
        cache.add(entry)
    assert cache.following(entries[0], 4) == [entries[1]]
