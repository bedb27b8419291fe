"""Several processes on the same stores: one order of batches, and no stale reads from caches."""

import asyncio

import msgspec
import pytest

from dray.index import encode_head
from dray.keyspace import head_key
from dray.log import Appended, OffsetOutOfRange, StreamUnknown
from dray.meta.port import Put
from tests.log.builders import ONE, STORE_DOMAIN, TWO, Rig, outcomes, simulated


@simulated
async def test_concurrent_appends_of_several_logs_get_dense_offsets(rig: Rig) -> None:
    logs = [await rig.open(name, flush_bytes=1) for name in "abc"]
    for opened in logs:
        opened.objects.put_seconds = 0.01
    sending = [
        opened.send(f"{n}{i}", stream)
        for i in range(8)
        for n, opened in enumerate(logs)
        for stream in (ONE, TWO)
    ]
    promises = [await one for one in sending]
    bases = [(await promise).base_offset for promise in promises]
    assert sorted(bases[0::2]) == sorted(bases[1::2]) == list(range(24))
    for opened in logs:
        assert [base for base, _, _ in await opened.tags()] == list(range(24))
    assert sum(opened.counted("dray_log_commit_conflicts_total") for opened in logs) > 0


@simulated
async def test_conflicting_commit_is_planned_again_from_the_store(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    await ours.append("0")
    ours.link.faults["changes"] = "refuse"
    await other.append("1")
    assert await outcomes(await ours.send("2", ONE), await ours.send("x", TWO)) == ["2", "0"]
    assert ours.counted("dray_log_commit_conflicts_total") == 1
    assert [tag for _, _, tag in await ours.tags()] == ["0", "1", "2"]


@simulated
async def test_acknowledged_batch_is_readable_through_another_log_at_once(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for number in range(10):
        appended = await other.append(f"{number}")
        found = await ours.log.read(ONE, appended.base_offset, 1)
        assert found.next_offset == number + 1
        assert (await ours.log.head(ONE)).high_watermark == number + 1


@simulated
async def test_head_is_cached_until_it_changes(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "012":
        await other.append(tag)
    await rig.settle()
    await ours.log.read(ONE, 0, 1)
    asked = ours.link.calls["get"]
    for _ in range(5):
        await ours.log.read(ONE, 1, 1)
    assert ours.link.calls["get"] == asked
    await other.append("3")
    await rig.settle()
    await ours.log.read(ONE, 1, 1)
    assert ours.link.calls["get"] == asked + 1


@simulated
async def test_records_trimmed_by_another_log_are_not_served_from_caches(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "0123":
        await ours.append(tag)
    assert len(await ours.tags()) == 4
    await other.log.trim(ONE, 2)
    await rig.settle()
    with pytest.raises(OffsetOutOfRange) as raised:
        await ours.log.read(ONE, 1, 1)
    assert (raised.value.log_start, raised.value.high_watermark) == (2, 4)
    assert [tag for _, _, tag in await ours.tags(offset=2)] == ["2", "3"]


@simulated
async def test_trimmed_records_are_not_served_from_caches(rig: Rig) -> None:
    opened = await rig.open()
    for tag in "0123":
        await opened.append(tag)
    await opened.tags()
    await opened.log.trim(ONE, 3)
    with pytest.raises(OffsetOutOfRange):
        await opened.log.read(ONE, 2, 1)


@simulated
async def test_stream_deleted_by_another_log_is_unknown(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    await ours.append("x")
    await other.log.delete_stream(ONE)
    await rig.settle()
    with pytest.raises(StreamUnknown):
        await ours.log.read(ONE, 0, 1)


@simulated
async def test_heads_are_not_cached_while_the_watch_is_broken(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "01":
        await ours.append(tag)
    ours.link.faults["changes"] = "refuse"
    await other.append("2")
    await rig.settle(1)
    await other.log.trim(ONE, 1)
    with pytest.raises(OffsetOutOfRange):
        await ours.log.read(ONE, 0, 1)
    asked = ours.link.calls["get"]
    await ours.log.read(ONE, 1, 1)
    await ours.log.read(ONE, 1, 1)
    assert ours.link.calls["get"] == asked + 2


@simulated
async def test_caches_are_dropped_when_the_watch_resumes_with_a_gap(rig: Rig) -> None:
    ours, other = await rig.open("a"), await rig.open("b")
    for tag in "01":
        await ours.append(tag)
    ours.link.faults["changes"] = "refuse"
    await other.append("2")
    await other.log.trim(ONE, 1)
    rig.server.forget_changes()
    await rig.settle(1)
    ours.link.faults.clear()
    await rig.settle(1)
    assert ours.log._domains[0].heads.known(ONE) is None
    with pytest.raises(OffsetOutOfRange):
        await ours.log.read(ONE, 0, 1)
    asked = ours.link.calls["get"]
    await ours.log.read(ONE, 1, 1)
    assert ours.link.calls["get"] == asked, "heads are cached again"
    assert (await ours.append("3")).base_offset == 3


@simulated
async def test_caches_are_dropped_on_a_gap_in_a_healthy_watch(rig: Rig) -> None:
    opened = await rig.open()
    for tag in "01":
        await opened.append(tag)
    await rig.settle()
    moved = msgspec.structs.replace(await rig.head(), log_start=1)
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), encode_head(moved))])
    rig.server.forget_changes()
    await rig.settle()
    with pytest.raises(OffsetOutOfRange):
        await opened.log.read(ONE, 0, 1)
    assert (await opened.append("2")) == Appended(2, 1)


@simulated
async def test_start_waits_for_the_watch(rig: Rig) -> None:
    opened = rig.make()
    opened.link.faults["no_changes"] = "refuse"
    starting = asyncio.create_task(opened.log.start())
    await rig.settle(5)
    assert not starting.done()
    opened.link.faults.clear()
    await starting
