"""Brokers that serve groups on one memory store in virtual time, and members that send them requests."""

from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from dray.cluster.brokers import BrokerInfo, LiveBrokers, Registration
from dray.coordinators import CoordinatorDeps, GroupCoordinator, GroupMetrics, OffsetExpiry
from dray.groups.commands import (
    ConsumerHeartbeat,
    Heartbeat,
    Join,
    Leave,
    LeavingMember,
    OffsetCommitter,
    Sync,
)
from dray.groups.limits import GroupLimits
from dray.groups.types import CommittedOffset, TopicImage, TopicPartition
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.observe import Metrics
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.entropy import SeededEntropy
from dray.testing.nodes import Node
from dray.testing.virtual_loop import run, virtual_loop
from tests.links import ControlledLink

T = TypeVar("T")
GROUP = "g"
TTL_MS = 2_000
SESSION_MS = 6_000
REBALANCE_MS = 10_000
LIMITS = GroupLimits(initial_rebalance_delay_ms=0)
_SEEDS = range(3)


class Topics:
    """A `TopicsImage` that tests change."""

    def __init__(self, **partitions: int) -> None:
        self.version = 1
        self._topics = {name: TopicImage(name, _topic_id(name), count) for name, count in partitions.items()}

    def find(self, name: str) -> TopicImage | None:
        return self._topics.get(name)

    def find_id(self, topic_id: bytes) -> TopicImage | None:
        return next((one for one in self._topics.values() if one.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return list(self._topics)

    def is_visible(self, _: str) -> bool:
        return True

    def put(self, name: str, partitions: int, *, incarnation: int = 0) -> None:
        """Create a topic or change its size; another `incarnation` is another topic of the same name."""
        self._topics[name] = TopicImage(name, _topic_id(f"{name}{incarnation or ''}"), partitions)
        self.version += 1

    def drop(self, name: str) -> None:
        del self._topics[name]
        self.version += 1


def _topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


class Broker:
    """One broker: its coordinator with everything it depends on."""

    def __init__(self, rig: "Rig", broker_id: int) -> None:
        self.rig = rig
        self.broker_id = broker_id
        self.node = Node(f"broker-{broker_id}")
        self.link = ControlledLink()
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
            clock,
            SeededEntropy(f"broker {self.broker_id}"),
            tasks=tasks,
            settings=MemoryMetaSettings(
                RetrySettings(first_ms=5, max_ms=20, budget_ms=100), self.rig.commit_limits
            ),
            link=self.link,
        )
        brokers = LiveBrokers(meta, clock)
        await brokers.start(tasks)
        info = BrokerInfo(self.broker_id, "localhost", 9000 + self.broker_id, None, 0, "test")
        registration = Registration(meta, info, ttl_ms=TTL_MS, clock=clock)
        await registration.start(tasks)
        deps = CoordinatorDeps(
            self.broker_id,
            meta,
            2,
            brokers,
            self.rig.topics,
            lambda _: self.rig.limits,
            clock,
            tasks,
            GroupMetrics.on(self.metrics),
            is_registered=lambda: registration.alive,
        )
        self.groups = GroupCoordinator(deps)
        await self.groups.start()
        self.expiry = OffsetExpiry(self.groups, self.groups.store, self._topic_id, clock)

    async def _topic_id(self, name: str) -> bytes | None:
        seen = self.rig.topics.find(name)
        return None if seen is None else seen.topic_id

    def do(self, work: Coroutine[Any, Any, T]) -> "Coroutine[Any, Any, T]":
        """Run something on this broker; a crash of the broker cancels it."""
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
        self.commit_limits = MemoryMetaSettings().limits

    async def broker(self, broker_id: int = 1) -> Broker:
        return await Broker(self, broker_id).start()


def simulated(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test that runs `body` in virtual time, with several orders of its steps."""

    def test() -> None:
        simulate(body)

    test.__doc__ = body.__doc__
    return test


def simulate(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await body(Rig())

    for seed in _SEEDS:
        run(main(), seed=seed)


@dataclass
class Member:
    """A classic member that sends its requests to one broker."""

    broker: Broker
    name: str
    member_id: str = ""
    instance_id: str | None = None
    generation: int = -1
    assignment: bytes = b""

    def join_command(self, **changed: Any) -> Join:
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
            "new_member_id": f"{self.name}-1",
            "require_known_member_id": False,
        }
        return Join(**(given | changed))

    async def join(self) -> bool:
        """Join, and store the result; returns whether it leads."""
        joined = await self.broker.do(self.broker.groups.join(GROUP, self.join_command()))
        assert joined.error.name == "NONE", joined
        self.member_id, self.generation = joined.member_id, joined.generation
        self.others = tuple(member.member_id for member in joined.members)
        return joined.leader == joined.member_id

    async def sync(self) -> str:
        """Fetch the assignment; a leader assigns each member its own id. Returns the error's name."""
        assignments = tuple((member_id, member_id.encode()) for member_id in self.others)
        command = Sync(
            self.member_id,
            self.instance_id,
            self.generation,
            "consumer",
            "range",
            assignments,
            self.broker.broker_id,
        )
        synced = await self.broker.do(self.broker.groups.sync(GROUP, command))
        self.assignment = synced.assignment
        return synced.error.name

    async def enter(self) -> None:
        await self.join()
        assert await self.sync() == "NONE"

    async def heartbeat(self) -> str:
        command = Heartbeat(self.member_id, self.instance_id, self.generation, self.broker.broker_id)
        return (await self.broker.do(self.broker.groups.heartbeat(GROUP, command))).name

    async def leave(self) -> str:
        command = Leave((LeavingMember(self.member_id, self.instance_id),))
        return (await self.broker.do(self.broker.groups.leave(GROUP, command)))[0].name

    async def commit(self, offset: int, partition: int = 0) -> str:
        committer = OffsetCommitter(self.member_id, self.instance_id, self.generation, self.broker.broker_id)
        offsets = offset_of(self.broker, offset, partition)
        return (await self.broker.do(self.broker.groups.commit(GROUP, committer, offsets))).name


ADMIN = OffsetCommitter("", None, -1, 1)


def offset_of(
    broker: Broker, offset: int, partition: int = 0, topic: str = "t"
) -> dict[TopicPartition, CommittedOffset]:
    """One offset to commit."""
    seen = broker.rig.topics.find(topic)
    assert seen is not None
    now_ms = broker.rig.clock.now_ms()
    return {(topic, partition): CommittedOffset(offset, -1, "", now_ms, None, seen.topic_id)}


async def committed(broker: Broker, group: str = GROUP) -> dict[tuple[str, int], int]:
    """The committed offsets of a group in the store."""
    offsets = await broker.do(broker.groups.offsets(group))
    return {(one.topic, one.partition): one.offset.offset for one in offsets}


def consumer_heartbeat(broker: Broker, member_id: str, epoch: int = 0, **changed: Any) -> ConsumerHeartbeat:
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
    return ConsumerHeartbeat(**(given | changed))
