"""Sealing of objects, concurrency of puts, and order of commits."""

from asyncio import Future

from dray.formats import wal_v1
from dray.ids import StreamId
from dray.log import Appended
from dray.log.stages import BATCH_OVERHEAD_BYTES
from tests.log.builders import ONE, THREE, TWO, OpenLog, Rig, outcomes, simulated

_BATCH_BYTES = 69
"""A tagged batch of one record whose tag has one letter."""


async def _sent(opened: OpenLog, count: int) -> list[Future[Appended]]:
    return [await opened.send(f"{number}") for number in range(count)]


def _batches_per_object(rig: Rig) -> list[int]:
    decoded = [wal_v1.decode(path, rig.bucket.get(path)) for path in rig.paths()]
    return [sum(len(chunk.batches) for chunk in wal.chunks) for wal in decoded]


@simulated
async def test_batch_size_assumed_by_these_tests(rig: Rig) -> None:
    opened = await rig.open()
    opened.objects.hold_puts()
    await opened.send("x")
    assert opened.held_bytes == _BATCH_BYTES + BATCH_OVERHEAD_BYTES
    opened.objects.let_all()
    await rig.settle()


@simulated
async def test_idle_log_seals_at_once_and_concurrent_batches_share_an_object(rig: Rig) -> None:
    opened = await rig.open(linger_ms=60_000)
    before = rig.clock.monotonic()
    assert await outcomes(*await _sent(opened, 5)) == ["0", "1", "2", "3", "4"]
    assert rig.clock.monotonic() == before
    assert len(rig.paths()) == 1


@simulated
async def test_object_is_sealed_at_its_maximum_bytes(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=2 * _BATCH_BYTES, linger_ms=60_000)
    assert await outcomes(*await _sent(opened, 6)) == [f"{offset}" for offset in range(6)]
    assert _batches_per_object(rig) == [2, 2, 2]


@simulated
async def test_object_is_sealed_at_its_maximum_streams(rig: Rig) -> None:
    opened = await rig.open(streams_per_object_max=2, linger_ms=60_000)
    promises = [await opened.send("x", stream) for stream in (ONE, ONE, TWO, THREE)]
    assert await outcomes(*promises) == ["0", "1", "0", "0"]
    assert sorted(_batches_per_object(rig)) == [1, 3]


@simulated
async def test_batch_larger_than_an_object_gets_its_own(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=10)
    assert await outcomes(*await _sent(opened, 2)) == ["0", "1"]
    assert _batches_per_object(rig) == [1, 1]


@simulated
async def test_object_lingers_while_another_is_put(rig: Rig) -> None:
    opened = await rig.open(linger_ms=50)
    opened.objects.hold_puts()
    first = await opened.send("1")
    await rig.settle(1)
    await opened.send("2")
    await rig.settle(0.049)
    await opened.send("3")
    assert len(opened.objects.puts) == 1
    await rig.settle(0.002)
    assert len(opened.objects.puts) == 2
    opened.objects.let_put(1)
    await rig.settle()
    assert not first.done()
    opened.objects.let_put(0)
    await rig.settle()
    assert first.done()
    assert await opened.tags() == [(0, 1, "1"), (1, 1, "2"), (2, 1, "3")]


@simulated
async def test_lingering_object_is_sealed_once_the_log_is_idle(rig: Rig) -> None:
    opened = await rig.open(linger_ms=60_000)
    opened.objects.hold_puts()
    await opened.send("1")
    await rig.settle()
    later = [await opened.send(tag) for tag in "23"]
    opened.objects.let_all()
    before = rig.clock.monotonic()
    assert await outcomes(*later) == ["1", "2"]
    assert rig.clock.monotonic() == before
    assert _batches_per_object(rig) in ([1, 2], [2, 1])


@simulated
async def test_large_object_is_put_while_its_predecessor_commits(rig: Rig) -> None:
    opened = await rig.open(linger_ms=60_000)
    await opened.append("warm")
    answer = opened.link.hold("commit")
    first = await opened.send("1")
    await rig.settle()
    before = len(rig.paths())
    second = await opened.send("2" * (1 << 19))
    await rig.settle()
    assert len(rig.paths()) == before + 1
    assert not first.done()
    del opened.link.held["commit"]
    answer.set()
    assert await outcomes(first, second) == ["1", "2"]


@simulated
async def test_large_object_of_many_small_chunks_collects_more_while_its_predecessor_commits(
    rig: Rig,
) -> None:
    opened = await rig.open(linger_ms=60_000)
    many = [StreamId(100 + number) for number in range(24)]
    for stream in many:
        await opened.log.create_stream(stream)
    await opened.append("warm")
    answer = opened.link.hold("commit")
    first = await opened.send("1")
    await rig.settle()
    before = len(rig.paths())
    promises = [await opened.send("2" * (24 << 10), stream) for stream in many]
    await rig.settle()
    assert len(rig.paths()) == before, "they have 576 KiB together, but less than 32 KiB each"
    del opened.link.held["commit"]
    answer.set()
    assert await outcomes(first, *promises) == ["1", *["0"] * 24]
    assert len(rig.paths()) == before + 1


@simulated
async def test_small_object_collects_batches_while_its_predecessor_commits(rig: Rig) -> None:
    opened = await rig.open(linger_ms=60_000)
    await opened.append("warm")
    answer = opened.link.hold("commit")
    promises = []
    for number in range(6):
        promises.append(await opened.send(f"{number}"))
        await rig.settle()
    del opened.link.held["commit"]
    answer.set()
    assert await outcomes(*promises) == ["1", "2", "3", "4", "5", "6"]
    assert sorted(_batches_per_object(rig)) == [1, 1, 5]


@simulated
async def test_many_small_chunks_linger_until_the_commit_of_their_predecessor_has_ended(rig: Rig) -> None:
    opened = await rig.open(linger_ms=5)
    many = [StreamId(100 + number) for number in range(24)]
    for stream in many:
        await opened.log.create_stream(stream)
    await opened.append("warm")
    for streams, seals_at_once in ((many, False), (many[:3], True)):
        answer = opened.link.hold("commit")
        first = await opened.send("1")
        await rig.settle()
        before = len(rig.paths())
        promises = [await opened.send("2", stream) for stream in streams]
        await rig.settle(1)
        assert len(rig.paths()) == before + seals_at_once
        del opened.link.held["commit"]
        answer.set()
        await rig.settle(0.01)
        assert len(rig.paths()) == before + 1
        assert all(one.done() for one in (first, *promises))


@simulated
async def test_puts_run_in_parallel_up_to_the_limit(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=3)
    opened.objects.put_seconds = 0.1
    promises = await _sent(opened, 9)
    assert await outcomes(*promises) == [f"{offset}" for offset in range(9)]
    assert opened.objects.putting_max == 3
    assert abs(rig.clock.monotonic() - 0.3) < 1e-9


@simulated
async def test_commits_keep_seal_order_when_puts_end_out_of_order(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=4)
    opened.objects.hold_puts()
    promises = await _sent(opened, 4)
    await rig.settle()
    for number in (3, 1, 2):
        opened.objects.let_put(number)
    await rig.settle()
    assert sum(promise.done() for promise in promises) < 4
    opened.objects.let_put(0)
    assert await outcomes(*promises) == ["0", "1", "2", "3"]
    assert [tag for _, _, tag in await opened.tags()] == ["0", "1", "2", "3"]


@simulated
async def test_waiting_objects_are_committed_together(rig: Rig) -> None:
    opened = await rig.open(flush_bytes=1, puts_in_flight_max=8, staging_markers_ahead=100)
    await opened.append("warm")
    commits = opened.link.calls["commit"]
    answer = opened.link.hold("commit")
    promises = await _sent(opened, 1)
    await rig.settle()
    promises += await _sent(opened, 4)
    await rig.settle()
    answer.set()
    del opened.link.held["commit"]
    assert await outcomes(*promises) == ["1", "2", "3", "4", "5"]
    assert opened.link.calls["commit"] - commits == 2, "the held one, and one for all that waited"
    assert len(await rig.entries()) == len(await rig.committed()) == 6


@simulated
async def test_commit_of_several_objects_is_bounded(rig: Rig) -> None:
    opened = await rig.open(
        flush_bytes=1, puts_in_flight_max=8, streams_per_object_max=2, staging_markers_ahead=100
    )
    await opened.append("warm")
    commits = opened.link.calls["commit"]
    answer = opened.link.hold("commit")
    promises = await _sent(opened, 7)
    await rig.settle()
    answer.set()
    del opened.link.held["commit"]
    await outcomes(*promises)
    assert opened.link.calls["commit"] - commits == 1 + 3
