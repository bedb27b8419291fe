"""Brokers that serve groups on one memory store and virtual time, and members that call them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from dray.cluster.brokers import BrokerInfo, LiveBrokers, Registration
from dray.coordinators import CoordinatorParts, GroupCoordinator, GroupMetrics, OffsetExpiry, OffsetGiven
from dray.groups.asks import Beat, Committer, ConsumerBeat, Join, Leave, Leaver, Sync
from dray.groups.limits import GroupLimits
from dray.groups.stored import CommittedOffset
from dray.groups.topics import TopicSeen
from dray.meta.memory import AnswerLost, MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import Unavailable
from dray.observe import Metrics
from dray.runtime import RetrySettings, SeededEntropy, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.nodes import Node
from dray.testing.virtual_loop import run, virtual_loop

T = TypeVar("T")
GROUP = "g"
TTL_MS = 2_000
SESSION_MS = 6_000
REBALANCE_MS = 10_000
LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
_SEEDS = range(3)


class CountingLink:
    """Carries requests and counts them; `away` and `lose` make it fail."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.away = False
        self.lose: str | None = None
        """Requests of this name are carried out and their answers lost."""
        self.slow_s = 0.0
        """How long a request takes on its way."""
        self.dies_after: int | None = None
        """After so many commits from now, what called never hears of it."""

    async def call(self, request: Callable[[], T]) -> T:
        name = getattr(request, "func", request).__name__
        self.calls[name] += 1
        if self.away:
            raise Unavailable("the test says so")
        if self.slow_s:
            await asyncio.sleep(self.slow_s)
        answer = request()
        if name == "commit" and self.dies_after is not None:
            self.dies_after -= 1
            if self.dies_after <= 0:
                await asyncio.get_running_loop().create_future()
        if name == self.lose:
            raise AnswerLost
        return answer


class Topics:
    """A `TopicImage` that the test changes."""

    def __init__(self, **partitions: int) -> None:
        self.version = 1
        self._topics = {name: TopicSeen(name, _topic_id(name), count) for name, count in partitions.items()}

    def find(self, name: str) -> TopicSeen | None:
        return self._topics.get(name)

    def find_id(self, topic_id: bytes) -> TopicSeen | None:
        return next((one for one in self._topics.values() if one.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return list(self._topics)

    def put(self, name: str, partitions: int, *, made: int = 0) -> None:
        """Make a topic, or change it; with another `made` it is another topic of the same name."""
        self._topics[name] = TopicSeen(name, _topic_id(f"{name}{made or ''}"), partitions)
        self.version += 1

    def drop(self, name: str) -> None:
        del self._topics[name]
        self.version += 1


def _topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


class Broker:
    """One broker: its groups, and everything they were given."""

    def __init__(self, rig: "Rig", broker_id: int) -> None:
        self.rig = rig
        self.broker_id = broker_id
        self.node = Node(f"broker-{broker_id}")
        self.link = CountingLink()
        self.metrics: Metrics
        self.groups: GroupCoordinator
        self.expiry: OffsetExpiry

    async def start(self) -> "Broker":
        await self.node.run(self._start())
        return self

    async def _start(self) -> None:
        clock, tasks = self.rig.clock, Tasks()
        self.metrics = Metrics()
        meta = MemoryMetaStore(
            self.rig.server,
            self.link,
            clock,
            SeededEntropy(f"broker {self.broker_id}"),
            tasks=tasks,
            settings=MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=20, budget_ms=100)),
        )
        brokers = LiveBrokers(meta, clock)
        await brokers.start(tasks)
        info = BrokerInfo(self.broker_id, "localhost", 9000 + self.broker_id, None, 0, "test")
        await Registration(meta, info, ttl_ms=TTL_MS, clock=clock).start(tasks)
        parts = CoordinatorParts(
            self.broker_id,
            meta,
            2,
            brokers,
            self.rig.topics,
            lambda _: self.rig.limits,
            clock,
            tasks,
            GroupMetrics.on(self.metrics),
        )
        self.groups = GroupCoordinator(parts)
        await self.groups.start()
        self.expiry = OffsetExpiry(self.groups, self.groups.store, self._topic_id, clock)

    async def _topic_id(self, name: str) -> bytes | None:
        seen = self.rig.topics.find(name)
        return None if seen is None else seen.topic_id

    def do(self, work: Coroutine[Any, Any, T]) -> "Coroutine[Any, Any, T]":
        """Do something as this broker: it dies with it."""
        return self.node.run(work)

    @property
    def commits(self) -> int:
        return self.link.calls["commit"]


class Rig:
    """Brokers on one store."""

    def __init__(self) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)
        self.topics = Topics(t=4)
        self.limits = LIMITS

    async def broker(self, broker_id: int = 1) -> Broker:
        return await Broker(self, broker_id).start()


def play(scene: "Callable[[Rig], Coroutine[Any, Any, None]]") -> None:
    """Play a scene with several orders of events."""

    async def live() -> None:
        await scene(Rig())

    for seed in _SEEDS:
        run(live(), seed=seed)


@dataclass
class Member:
    """A classic member that calls one broker."""

    broker: Broker
    name: str
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    assignment: bytes = b""

    def join_ask(self, **changed: Any) -> Join:
        given: dict[str, Any] = {
            "member_id": self.member_id,
            "instance_id": self.instance_id,
            "client_id": self.name,
            "client_host": "/test",
            "protocol_type": "consumer",
            "protocols": (("range", b"subscription of " + self.name.encode()),),
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "broker": self.broker.broker_id,
            "new_id": f"{self.name}-1",
            "must_know_id": False,
        }
        return Join(**(given | changed))

    async def join(self) -> bool:
        """Join, and take what was answered; says whether it leads."""
        joined = await self.broker.do(self.broker.groups.join(GROUP, self.join_ask()))
        assert joined.fault.name == "NONE", joined
        self.member_id, self.generation = joined.member_id, joined.generation
        self.others = tuple(member.member_id for member in joined.members)
        return joined.leader == joined.member_id

    async def sync(self) -> str:
        """Fetch the assignment; who leads gives each member its own name. Returns the fault."""
        assignments = tuple((member_id, member_id.encode()) for member_id in self.others)
        ask = Sync(
            self.member_id,
            self.instance_id,
            self.generation,
            "consumer",
            "range",
            assignments,
            self.broker.broker_id,
        )
        synced = await self.broker.do(self.broker.groups.sync(GROUP, ask))
        self.assignment = synced.assignment
        return synced.fault.name

    async def enter(self) -> None:
        await self.join()
        assert await self.sync() == "NONE"

    async def beat(self) -> str:
        ask = Beat(self.member_id, self.instance_id, self.generation, self.broker.broker_id)
        return (await self.broker.do(self.broker.groups.beat(GROUP, ask))).name

    async def leave(self) -> str:
        ask = Leave((Leaver(self.member_id, self.instance_id),))
        return (await self.broker.do(self.broker.groups.leave(GROUP, ask)))[0].name

    async def commit(self, offset: int, partition: int = 0) -> str:
        committer = Committer(self.member_id, self.instance_id, self.generation, self.broker.broker_id)
        given = [given_offset(self.broker, offset, partition)]
        return (await self.broker.do(self.broker.groups.commit(GROUP, committer, given))).name


ADMIN = Committer("", None, -1, 1)


def given_offset(broker: Broker, offset: int, partition: int = 0, topic: str = "t") -> OffsetGiven:
    seen = broker.rig.topics.find(topic)
    assert seen is not None
    now_ms = broker.rig.clock.now_ms()
    return OffsetGiven(topic, partition, CommittedOffset(offset, -1, "", now_ms, None, seen.topic_id))


async def committed(broker: Broker, group: str = GROUP) -> dict[tuple[str, int], int]:
    """What the store has for a group."""
    offsets = await broker.do(broker.groups.offsets(group))
    return {(one.topic, one.partition): one.offset.offset for one in offsets}


def consumer_ask(broker: Broker, member_id: str, epoch: int = 0, **changed: Any) -> ConsumerBeat:
    joining = epoch == 0
    given: dict[str, Any] = {
        "group_id": GROUP,
        "member_id": member_id,
        "epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": REBALANCE_MS if joining else None,
        "names": ("t",) if joining else None,
        "regex": None,
        "assignor": None,
        "owned": {} if joining else None,
        "client_id": member_id,
        "client_host": "/test",
        "broker": broker.broker_id,
    }
    return ConsumerBeat(**(given | changed))
