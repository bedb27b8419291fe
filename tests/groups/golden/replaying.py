"""Plays scenarios on brokers of Dray inside this process, in virtual time.

With several brokers every client has its own: what one of them asks has to show in what another is told, and
the transcript must still be the same. Brokers hear of each other's changes a moment later, so the next
question waits that long; what happens within that moment is for the simulation to find out.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from dray.api.dispatch import Dispatcher
from dray.api.exchange import Peer
from dray.api.metrics import ApiMetrics
from dray.observe import Metrics
from dray.runtime import Clock
from dray.testing.virtual_loop import run
from dray.wire import LENGTH_BYTES
from tests.api.builders import Broker, Cluster
from tests.groups.golden.profiles import PROFILES
from tests.groups.golden.registry import Written

_PEER: Final = Peer("127.0.0.1", 50_000)
_RUN: Final = "replayed"
_SPREAD_S: Final = 0.01


class DispatchedExchange:
    """A request that was handed to a dispatcher, as a connection does it."""

    def __init__(self, dispatcher: Dispatcher, frame: bytes, clock: Clock) -> None:
        self._task = asyncio.create_task(_dispatch(dispatcher, frame))
        self._clock = clock

    @property
    def done(self) -> bool:
        return self._task.done()

    async def result(self, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            answer = await asyncio.shield(self._task)
        await self._clock.sleep(_SPREAD_S)
        return answer

    def hang_up(self) -> None:
        self._task.cancel()


class DrayBackend:
    """Brokers of one cluster; clients are given to them in turn."""

    def __init__(self, cluster: Cluster, brokers: Sequence[Broker]) -> None:
        self.clock = cluster.clock
        self._dispatchers = [Dispatcher(broker.services, ApiMetrics.on(Metrics())) for broker in brokers]
        self._clients: dict[str, Dispatcher] = {}

    def send(self, frame: bytes, who: str) -> DispatchedExchange:
        turn = len(self._clients) % len(self._dispatchers)
        dispatcher = self._clients.setdefault(who, self._dispatchers[turn])
        return DispatchedExchange(dispatcher, frame, self.clock)


async def _dispatch(dispatcher: Dispatcher, frame: bytes) -> bytes:
    finish = await dispatcher.begin(memoryview(frame), _PEER)
    answer = await finish()
    assert answer is not None
    return b"".join(answer)[LENGTH_BYTES:]


def replay(scenario: Written, brokers: int = 1) -> str:
    """Return the transcript of a scenario as Dray plays it."""

    async def main() -> str:
        cluster = Cluster()
        limits = PROFILES[scenario.profile]
        started = [await cluster.broker(number + 1, limits=limits) for number in range(brokers)]
        return await scenario.play(DrayBackend(cluster, started), _RUN)

    return run(main(), seed=scenario.name)
