"""Simulated members, as careful as real clients; `ClassicMember` and `ConsumerMember` add the protocols.

A member counts its session from when it sent the last successful request, and considers itself expired a
little before the broker may. It commits what it has read, partition by partition, and begins to read an
assigned partition at the offset it fetches.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from dray.coordinators import GroupCoordinator, GroupsClosed, GroupsUnavailable
from dray.groups.commands import OffsetCommitter
from dray.groups.types import CommittedOffset, GroupError
from dray.meta.port import MetaError
from dray.testing.clock import VirtualClock
from dray.testing.group_sim.brokers import TOPIC, TOPIC_ID, Broker
from dray.testing.group_sim.ledger import Ledger
from dray.testing.nodes import NodeCrashed

T = TypeVar("T")
SESSION_S: Final = 3.0
REBALANCE_S: Final = 5.0
_SESSION_MARGIN: Final = 0.9
_REQUEST_TIMEOUT_S: Final = 12.0
HEARTBEAT_S: Final = 0.7
UNREACHABLE: Final = (NodeCrashed, GroupsUnavailable, GroupsClosed, MetaError, TimeoutError)


@dataclass(slots=True)
class SimulatedGroup:
    """A group with its members and everything they use."""

    brokers: Sequence[Broker]
    clock: VirtualClock
    random: Random
    ledger: Ledger
    partitions: Callable[[], int]
    commit_odds: float = 1.0
    """How often a member commits before a heartbeat; only heartbeats can be answered without the store."""
    members: list["Member"] = field(default_factory=list)

    @property
    def group_id(self) -> str:
        return self.ledger.group_id


class Member:
    """A member of either protocol."""

    _commit_renews_session = False
    """Whether a commit keeps the session alive."""

    def __init__(self, name: str, group: SimulatedGroup) -> None:
        self.name = name
        self.member_id = ""
        self.epoch = 0
        self._group = group
        self._owned: dict[int, int] = {}
        """Partitions it uses, and the offset it will read next in each."""
        self._session_ends = 0.0
        self._broker: Broker | None = None
        self._incarnation = 0

    def uses(self, partition: int) -> bool:
        return partition in self._owned and self._group.clock.monotonic() < self._session_ends

    @property
    def owned(self) -> list[int]:
        return sorted(partition for partition in self._owned if self.uses(partition))

    def die(self) -> None:
        """Crash without leaving; the next run is a new member."""
        self._forget()

    async def run(self) -> None:
        while True:
            try:
                await self._step()
            except UNREACHABLE:
                self._broker = None
            await self._group.clock.sleep(self._group.random.uniform(0.01, HEARTBEAT_S))
            if self._group.clock.monotonic() >= self._session_ends:
                self._owned.clear()

    async def leave(self) -> None:
        raise NotImplementedError

    async def _step(self) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        self._owned.clear()
        self.member_id, self.epoch, self._session_ends = "", 0, 0.0
        self._incarnation += 1

    async def _request(self, send: Callable[[GroupCoordinator, int], Awaitable[T]]) -> tuple[T, float]:
        """Send a request to a broker; returns the reply and when the request was sent."""
        broker = self._choose_broker()
        groups = broker.groups
        if groups is None:
            raise TimeoutError
        sent = self._group.clock.monotonic()
        async with asyncio.timeout(_REQUEST_TIMEOUT_S):
            return await broker.node.run(_awaited(send(groups, broker.broker_id))), sent

    def _choose_broker(self) -> Broker:
        if self._broker is None or self._broker.groups is None or self._group.random.random() < 0.03:
            self._broker = self._group.random.choice(self._group.brokers)
        return self._broker

    def _renew_session(self, sent: float) -> None:
        self._session_ends = max(self._session_ends, sent + _SESSION_MARGIN * SESSION_S)

    async def _start_using(self, partitions: Sequence[int]) -> None:
        """Fetch the committed offsets, then begin to read there."""
        floors = {one: self._group.ledger.floor(one) for one in partitions}
        found, _ = await self._request(lambda groups, _: groups.offsets(self._group.group_id, TOPIC))
        offsets = {one.partition: one.offset.offset for one in found}
        for partition, floor in floors.items():
            self._group.ledger.fetched(partition, offsets.get(partition, 0), floor)
        if self._group.clock.monotonic() >= self._session_ends:
            return
        self._owned |= {one: offsets.get(one, 0) for one in partitions}
        self._group.ledger.begin_use(self, partitions, self._group.members)

    async def _work(self) -> None:
        """Read a record of a partition and commit it."""
        usable, odds = self.owned, self._group.commit_odds
        if not usable or (odds < 1.0 and self._group.random.random() >= odds):
            return
        partition = self._group.random.choice(usable)
        offset = self._owned[partition] + 1
        now_ms = self._group.clock.now_ms()
        committed = CommittedOffset(offset, -1, "", now_ms, None, TOPIC_ID)
        epoch, member_id = self.epoch, self.member_id
        error, sent = await self._request(
            lambda groups, broker: groups.commit(
                self._group.group_id,
                OffsetCommitter(member_id, None, epoch, broker),
                {(TOPIC, partition): committed},
            )
        )
        if error is GroupError.NONE:
            self._group.ledger.committed(partition, offset)
            if self._commit_renews_session:
                self._renew_session(sent)
            if partition in self._owned:
                self._owned[partition] = offset


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable
