"""Alternation of brokers that append to the same streams: none waits for long while the others are busy."""

import asyncio

from dray.ids import WalId
from dray.index import BatchDraft, Chunk, StreamHead, WalEntry, assign
from dray.log.alternation import Alternation
from tests.log.builders import ONE, TWO, OpenLog, Rig, simulated, simulated_in_order

_PRODUCERS = 8
_EACH = 100
_ROUND_TRIP_S = 0.01
_COMMIT_S = 0.05
_LONGEST_S = 8 * _COMMIT_S


async def latencies_of(opened: OpenLog, rig: Rig) -> list[float]:
    """Append with several producers at a time."""

    async def produce(name: str) -> list[float]:
        latencies = []
        for number in range(_EACH):
            began = rig.clock.monotonic()
            await opened.append(f"{name}/{number}")
            latencies.append(rig.clock.monotonic() - began)
        return latencies

    opened.link.slow_by = lambda: _ROUND_TRIP_S / 2
    found = await asyncio.gather(*(produce(f"{number}") for number in range(_PRODUCERS)))
    return [latency for some in found for latency in some]


@simulated_in_order
async def test_busy_brokers_share_a_stream_fairly(rig: Rig) -> None:
    """Otherwise the second one would have to wait until the first has nothing more to append."""
    first, second = await rig.open("a"), await rig.open("b")
    running = asyncio.create_task(latencies_of(first, rig))
    await rig.settle(10 * _ROUND_TRIP_S)
    latencies = await latencies_of(second, rig) + await running
    assert max(latencies) < 20 * _ROUND_TRIP_S
    assert (await rig.head()).high_watermark == 2 * _PRODUCERS * _EACH


@simulated_in_order
async def test_broker_that_is_alone_never_waits(rig: Rig) -> None:
    opened = await rig.open()
    assert max(await latencies_of(opened, rig)) < 5 * _ROUND_TRIP_S


def _entry(start: int) -> WalEntry:
    """Return the entry of one record at an offset."""
    chunk = Chunk(ONE, WalId(bytes(16)), "path", 0, 100)
    head = StreamHead(high_watermark=start)
    return assign(head, chunk, [BatchDraft(0, 100, 1, 0, 0, -1, -1, -1)], 0)[1]


class Waiting:
    """An `Alternation` in virtual time."""

    def __init__(self, rig: Rig) -> None:
        self._clock = rig.clock
        self.alternation = Alternation(rig.clock)

    def commit(self, start: int) -> None:
        """Commit one record at an offset."""
        self.alternation.committed([_entry(start)], _COMMIT_S)

    async def waits(self) -> float:
        began = self._clock.monotonic()
        await self.alternation.wait()
        return round(self._clock.monotonic() - began, 6)


@simulated
async def test_broker_waits_once_it_finds_records_of_another_one(rig: Rig) -> None:
    waiting = Waiting(rig)
    for start, expected in ((5, 0), (6, 0), (9, _LONGEST_S), (12, _LONGEST_S)):
        waiting.commit(start)
        assert await waiting.waits() == expected


@simulated
async def test_wait_ends_when_another_broker_has_committed(rig: Rig) -> None:
    waiting = Waiting(rig)
    waiting.alternation.share(ONE)
    waiting.commit(0)
    asyncio.get_running_loop().call_later(_COMMIT_S, waiting.alternation.changed, ONE)
    assert await waiting.waits() == _COMMIT_S


@simulated
async def test_only_one_wait_has_no_effect(rig: Rig) -> None:
    """The other broker has left; or it asks again."""
    waiting = Waiting(rig)
    waiting.alternation.share(ONE)
    waited = []
    for start in range(6):
        waiting.commit(start)
        waited.append(await waiting.waits())
        if start == 3:
            waiting.alternation.share(ONE)
    assert waited == [_LONGEST_S, 0, 0, 0, _LONGEST_S, 0]


@simulated
async def test_slow_commit_causes_no_long_wait(rig: Rig) -> None:
    """The store was away meanwhile."""
    waiting = Waiting(rig)
    waiting.alternation.share(ONE)
    waiting.commit(0)
    waiting.alternation.committed([_entry(1)], 30.0)
    assert await waiting.waits() == 0.6, "eight times the mean, in which 30 s count as 0.25 s"


@simulated
async def test_waits_are_long_enough_for_others_on_a_slow_store(rig: Rig) -> None:
    waiting = Waiting(rig)
    for start in range(50):
        waiting.alternation.committed([_entry(start)], 0.24)
    waiting.alternation.share(ONE)
    waiting.alternation.committed([_entry(50)], 0.24)
    assert await waiting.waits() == 1.92


@simulated
async def test_other_streams_are_not_waited_for(rig: Rig) -> None:
    waiting = Waiting(rig)
    waiting.alternation.share(TWO)
    waiting.commit(0)
    assert await waiting.waits() == 0


@simulated
async def test_change_that_is_not_an_append_causes_no_wait(rig: Rig) -> None:
    """Such as a trim, or a swap by a compactor."""
    waiting = Waiting(rig)
    for start in range(3):
        waiting.alternation.changed(ONE)
        waiting.commit(start)
        assert await waiting.waits() == 0
