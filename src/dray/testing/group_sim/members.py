"""Simulated members of both protocols, as careful as real clients are.

A member counts its session from when it sent the last call that was answered well, and takes itself for dead
a little before the broker may. A member commits what it has read, partition by partition, and reads on from
what it fetches when a partition is given to it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeVar

from dray.coordinators import GroupCoordinator, GroupsAway, GroupsClosed, OffsetGiven
from dray.groups.asks import Beat, Committer, ConsumerBeat, Join, Leave, Leaver, Sync
from dray.groups.faults import Fault
from dray.groups.replies import ConsumerBeaten, Joined
from dray.groups.stored import CommittedOffset
from dray.meta.port import MetaError
from dray.testing.clock import VirtualClock
from dray.testing.group_sim.brokers import Broker
from dray.testing.group_sim.ledger import Ledger
from dray.testing.group_sim.topics import TOPIC, TOPIC_ID
from dray.testing.nodes import NodeCrashed

T = TypeVar("T")
SESSION_S: Final = 3.0
REBALANCE_S: Final = 5.0
_CAREFUL: Final = 0.9
_CALL_S: Final = 12.0
_BEAT_S: Final = 0.7
AWAY: Final = (NodeCrashed, GroupsAway, GroupsClosed, MetaError, TimeoutError)


@dataclass(slots=True)
class Surroundings:
    """Where members live."""

    brokers: Sequence[Broker]
    clock: VirtualClock
    random: Random
    ledger: Ledger
    partitions: Callable[[], int]
    members: list["Member"] = field(default_factory=list)


class Member:
    """What both kinds have in common."""

    _committing_counts = False
    """Whether a commit keeps its session alive."""

    def __init__(self, name: str, around: Surroundings) -> None:
        self.name = name
        self.member_id = ""
        self.epoch = 0
        self._around = around
        self._owned: dict[int, int] = {}
        """Partitions it uses, and the offset it will read next in each."""
        self._good_until = 0.0
        self._broker: Broker | None = None
        self._lives = 0

    def uses(self, partition: int) -> bool:
        return partition in self._owned and self._around.clock.monotonic() < self._good_until

    @property
    def owned(self) -> list[int]:
        return sorted(partition for partition in self._owned if self.uses(partition))

    def die(self) -> None:
        """It is gone without a word; whoever starts it again starts a new one."""
        self._forget()

    async def run(self) -> None:
        while True:
            try:
                await self._live()
            except AWAY:
                self._broker = None
            await self._around.clock.sleep(self._around.random.uniform(0.01, _BEAT_S))
            if self._around.clock.monotonic() >= self._good_until:
                self._owned.clear()

    async def leave(self) -> None:
        raise NotImplementedError

    async def _live(self) -> None:
        raise NotImplementedError

    def _forget(self) -> None:
        self._owned.clear()
        self.member_id, self.epoch, self._good_until = "", 0, 0.0
        self._lives += 1

    async def _call(self, ask: Callable[[GroupCoordinator, int], Awaitable[T]]) -> tuple[T, float]:
        """Ask a broker; returns also when the call was sent."""
        broker = self._find_broker()
        groups = broker.groups
        if groups is None:
            raise TimeoutError
        sent = self._around.clock.monotonic()
        async with asyncio.timeout(_CALL_S):
            return await broker.node.run(_awaited(ask(groups, broker.broker_id))), sent

    def _find_broker(self) -> Broker:
        if self._broker is None or self._broker.groups is None or self._around.random.random() < 0.03:
            self._broker = self._around.random.choice(self._around.brokers)
        return self._broker

    def _answered(self, sent: float) -> None:
        self._good_until = max(self._good_until, sent + _CAREFUL * SESSION_S)

    async def _start_using(self, partitions: Sequence[int]) -> None:
        """Find out where to read on, then begin."""
        floors = {one: self._around.ledger.floor(one) for one in partitions}
        found, _ = await self._call(lambda groups, _: groups.offsets(self._around.ledger.group_id, TOPIC))
        offsets = {one.partition: one.offset.offset for one in found}
        for partition, floor in floors.items():
            self._around.ledger.fetched(partition, offsets.get(partition, 0), floor)
        if self._around.clock.monotonic() >= self._good_until:
            return
        self._owned |= {one: offsets.get(one, 0) for one in partitions}
        self._around.ledger.given(self, partitions, self._around.members)

    async def _work(self) -> None:
        """Read a record of some partition and commit it."""
        usable = self.owned
        if not usable:
            return
        partition = self._around.random.choice(usable)
        offset = self._owned[partition] + 1
        now_ms = self._around.clock.now_ms()
        given = OffsetGiven(TOPIC, partition, CommittedOffset(offset, -1, "", now_ms, None, TOPIC_ID))
        epoch, member_id = self.epoch, self.member_id
        fault, sent = await self._call(
            lambda groups, broker: groups.commit(
                self._around.ledger.group_id, Committer(member_id, None, epoch, broker), [given]
            )
        )
        if fault is Fault.NONE:
            self._around.ledger.committed(partition, offset)
            if self._committing_counts:
                self._answered(sent)
            if partition in self._owned:
                self._owned[partition] = offset


async def _awaited(awaitable: Awaitable[T]) -> T:
    return await awaitable


class ClassicMember(Member):
    """Gives everything up before it joins again, as clients with an eager assignor do."""

    _committing_counts = True

    def __init__(self, name: str, around: Surroundings) -> None:
        super().__init__(name, around)
        self._assigned: int | None = None
        """How many partitions there were when it was the leader and gave them out."""

    async def _live(self) -> None:
        if self._assigned not in (None, self._around.partitions()):
            self._assigned, self.epoch = None, 0
            self._owned.clear()
        if self.epoch <= 0:
            await self._enter()
            return
        if self._around.clock.monotonic() >= self._good_until:
            self._forget()
            return
        await self._work()
        fault, sent = await self._call(
            lambda groups, broker: groups.beat(
                self._around.ledger.group_id, Beat(self.member_id, None, self.epoch, broker)
            )
        )
        if fault is Fault.NONE:
            self._answered(sent)
        elif fault is Fault.REBALANCE_IN_PROGRESS:
            self._owned.clear()
            self.epoch = 0
        else:
            self._forget()

    async def leave(self) -> None:
        member_id = self.member_id
        self._forget()
        if member_id:
            await self._call(
                lambda groups, _: groups.leave(self._around.ledger.group_id, Leave((Leaver(member_id),)))
            )

    async def _enter(self) -> None:
        joined, sent = await self._call(
            lambda groups, broker: groups.join(self._around.ledger.group_id, self._join(broker))
        )
        if joined.fault is Fault.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return
        if joined.fault is not Fault.NONE:
            self._forget()
            return
        self.member_id, self.epoch = joined.member_id, joined.generation
        self._assigned = self._around.partitions() if joined.members else None
        synced, sent = await self._call(
            lambda groups, broker: groups.sync(self._around.ledger.group_id, self._sync(joined, broker))
        )
        if synced.fault is not Fault.NONE:
            self.epoch = 0
            if synced.fault is not Fault.REBALANCE_IN_PROGRESS:
                self._forget()
            return
        self._answered(sent)
        try:
            await self._start_using(list(synced.assignment))
        except AWAY:
            self.epoch = 0  # it does not know where to read on; joining again, it will ask anew
            raise

    def _join(self, broker: int) -> Join:
        return Join(
            member_id=self.member_id,
            instance_id=None,
            client_id=self.name,
            client_host="/sim",
            protocol_type="consumer",
            protocols=(("sim", b""),),
            session_timeout_ms=int(SESSION_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            broker=broker,
            new_id=f"{self.name}-{self._lives}-{self._around.random.getrandbits(32):x}",
        )

    def _sync(self, joined: Joined, broker: int) -> Sync:
        members = [member.member_id for member in joined.members]
        shares = {
            member: bytes(range(index, self._around.partitions(), len(members)))
            for index, member in enumerate(members)
        }
        return Sync(
            joined.member_id, None, joined.generation, "consumer", "sim", tuple(shares.items()), broker
        )


class ConsumerMember(Member):
    """Gives up what it is told to, and says so."""

    def __init__(self, name: str, around: Surroundings) -> None:
        super().__init__(name, around)
        self._joined = False

    async def _live(self) -> None:
        if self._joined and self._around.clock.monotonic() >= self._good_until:
            self._forget()
        if self._joined:
            await self._work()
        beaten, sent = await self._call(
            lambda groups, broker: groups.consumer_beat(self._around.ledger.group_id, self._beat(broker))
        )
        if beaten.fault is not Fault.NONE:
            self._forget()
            return
        self._joined, self.epoch = True, beaten.epoch
        self._answered(sent)
        await self._follow(beaten)

    def _forget(self) -> None:
        super()._forget()
        self._joined = False

    async def leave(self) -> None:
        was_in, member_id = self._joined, self.member_id
        self._forget()
        if was_in:
            ask = self._beat(0, member_id=member_id, epoch=-1)
            await self._call(lambda groups, _: groups.consumer_beat(self._around.ledger.group_id, ask))

    async def _follow(self, beaten: ConsumerBeaten) -> None:
        if beaten.assignment is None:
            return
        told = set(beaten.assignment.get(TOPIC_ID, ()))
        if dropped := self._owned.keys() - told:
            # A client finishes what it does with a partition before it gives it up.
            await self._around.clock.sleep(self._around.random.uniform(0, _BEAT_S))
            for partition in dropped:
                self._owned.pop(partition, None)
        if new := sorted(told - self._owned.keys()):
            await self._start_using(new)

    def _beat(self, broker: int, member_id: str | None = None, epoch: int | None = None) -> ConsumerBeat:
        if not self.member_id:
            self.member_id = f"{self.name}-{self._lives}"
        joins = not self._joined
        return ConsumerBeat(
            group_id=self._around.ledger.group_id,
            member_id=member_id or self.member_id,
            epoch=(0 if joins else self.epoch) if epoch is None else epoch,
            instance_id=None,
            rack_id=None,
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            names=(TOPIC,),
            regex=None,
            assignor=None,
            owned={TOPIC_ID: tuple(sorted(self._owned))} if self._owned and not joins else {},
            client_id=self.name,
            client_host="/sim",
            broker=broker,
        )
