"""Departure of a broker from its cluster, before its listener stops.

The broker removes its registration first. Then the others name themselves for its partitions and groups, and
so does its own Metadata. It keeps its connections for a short while, in which it redirects clients to the
others: NOT_LEADER_OR_FOLLOWER for records, NOT_COORDINATOR for groups. So they move without a broken
connection or a failed request, as in a controlled shutdown of Kafka.

Without another broker there is nowhere to redirect them, and the broker stops immediately.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from dray.cluster.brokers import BrokerInfo, Registration
from dray.cluster.routing import Routing
from dray.observe import get_logger
from dray.runtime import Clock

_CHECK_SECONDS: Final = 0.02
_log = get_logger("server")


@dataclass(frozen=True, slots=True)
class Departure:
    """The parts of a broker that take part in its departure."""

    routing: Routing
    registration: Registration
    redirect: Callable[[], None]
    """Answers requests that wait for records or for other group members, so that clients send them again."""
    connections: Callable[[], int]
    clock: Clock
    drain_ms: int

    async def leave(self) -> None:
        """Redirect clients until the time is over, no connection is left, or no other broker is."""
        if not self.drain_ms:
            return
        with suppress(TimeoutError):  # also if the metadata store does not respond
            async with asyncio.timeout(self.drain_ms / 1000):
                await self._leave(self.routing.others())

    async def _leave(self, others: Sequence[BrokerInfo]) -> None:
        if others:
            _log.debug("broker_leaving", others=[broker.broker_id for broker in others])
            self.routing.leave()
        await self.registration.stop()  # without others too: one of them may be leaving, and wait for this
        if others:
            self.redirect()
        while self.routing.others() and self.connections():
            await self.clock.sleep(_CHECK_SECONDS)
