"""Replay of scenarios on Dray brokers in this process, in virtual time.

With several brokers, clients are distributed over them, and the transcript must still be the same. Brokers
see each other's changes with a short delay, so the next request waits that long; what happens within the
delay is left to the simulation.
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
from tests.groups.golden.registry import GoldenScenario

_PEER: Final = Peer("127.0.0.1", 50_000)
_RUN: Final = "replayed"
_PROPAGATION_S: Final = 0.01


class DispatchedExchange:
    """A request that was passed to a dispatcher, as a connection does."""

    def __init__(self, dispatcher: Dispatcher, frame: bytes, clock: Clock) -> None:
        self._task = asyncio.create_task(_dispatch(dispatcher, frame))
        self._clock = clock

    @property
    def done(self) -> bool:
        return self._task.done()

    async def result(self, timeout_s: float) -> bytes:
        async with asyncio.timeout(timeout_s):
            answer = await asyncio.shield(self._task)
        await self._clock.sleep(_PROPAGATION_S)
        return answer

    def hang_up(self) -> None:
        self._task.cancel()


class DrayBackend:
    """Brokers of one cluster; clients are assigned to them round robin."""

    def __init__(self, cluster: Cluster, brokers: Sequence[Broker]) -> None:
        self.clock = cluster.clock
        self._dispatchers = [Dispatcher(broker.services, ApiMetrics.on(Metrics())) for broker in brokers]
        self._clients: dict[str, Dispatcher] = {}

    def send(self, frame: bytes, client_name: str) -> DispatchedExchange:
        index = len(self._clients) % len(self._dispatchers)
        dispatcher = self._clients.setdefault(client_name, self._dispatchers[index])
        return DispatchedExchange(dispatcher, frame, self.clock)


async def _dispatch(dispatcher: Dispatcher, frame: bytes) -> bytes:
    finish = await dispatcher.begin(memoryview(frame), _PEER)
    answer = await finish()
    assert answer is not None
    return b"".join(answer)[LENGTH_BYTES:]


def replay(scenario: GoldenScenario, brokers: int = 1) -> str:
    """Replay a scenario on Dray; returns the transcript."""

    async def main() -> str:
        cluster = Cluster()
        limits = PROFILES[scenario.profile]
        started = [await cluster.broker(number + 1, limits=limits) for number in range(brokers)]
        return await scenario.play(DrayBackend(cluster, started), _RUN)

    return run(main(), seed=scenario.name)
