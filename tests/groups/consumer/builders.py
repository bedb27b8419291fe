"""Topics, heartbeats, and members that do what a client does, for tests of the consumer protocol."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dray.groups.asks import Committer, ConsumerBeat, Partitions
from dray.groups.consumer import ConsumerGroup, ConsumerMember, Sight, fire, heartbeat, refresh, timers
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Timer, TimerKind
from dray.groups.replies import ConsumerBeaten
from dray.groups.topics import TopicSeen

LIMITS = GroupLimits(consumer_assignment_interval_ms=0)
BEAT_MS = LIMITS.consumer_heartbeat_interval_ms


def topic_id(name: str, life: int = 0) -> bytes:
    """The id of a topic; in another life it has another."""
    return hashlib.md5(f"{name}/{life}".encode(), usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class Image:
    """All topics at one moment."""

    version: int
    seen: Mapping[str, TopicSeen]

    def find(self, name: str) -> TopicSeen | None:
        return self.seen.get(name)

    def find_id(self, topic_id: bytes) -> TopicSeen | None:
        return next((seen for seen in self.seen.values() if seen.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return frozenset(self.seen)

    def with_topic(self, name: str, partitions: int, life: int = 0) -> "Image":
        seen = TopicSeen(name, topic_id(name, life), partitions)
        return Image(self.version + 1, {**self.seen, name: seen})

    def without_topic(self, name: str) -> "Image":
        return Image(self.version + 1, {other: seen for other, seen in self.seen.items() if other != name})


def image(**partitions: int) -> Image:
    found = Image(1, {})
    for name, count in partitions.items():
        found = found.with_topic(name, count)
    return found


def parts(**numbers: Iterable[int]) -> dict[bytes, tuple[int, ...]]:
    """Partitions by topic, as members are told of them."""
    return {topic_id(name): tuple(of) for name, of in numbers.items()}


def a_beat(member_id: str, epoch: int, **changes: Any) -> ConsumerBeat:
    fields: dict[str, Any] = {
        "group_id": "g",
        "member_id": member_id,
        "epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": None,
        "names": None,
        "regex": None,
        "assignor": None,
        "owned": None,
        "client_id": "client",
        "client_host": "/10.0.0.1",
        "broker": 1,
    }
    return ConsumerBeat(**fields | changes)


def a_join(member_id: str, *names: str, **changes: Any) -> ConsumerBeat:
    fields: dict[str, Any] = {"names": names, "rebalance_timeout_ms": 60_000, "owned": {}}
    return a_beat(member_id, 0, **fields | changes)


def a_committer(member_id: str = "", epoch: int = -1, **changes: Any) -> Committer:
    fields: dict[str, Any] = {"member_id": member_id, "instance_id": None, "epoch": epoch, "broker": 1}
    return Committer(**fields | changes)


@dataclass
class Desk:
    """One group as a host keeps it: the topics are looked at, each ask is applied and stored."""

    topics: Image
    limits: GroupLimits = LIMITS
    now_ms: int = 1_000_000
    group: ConsumerGroup | None = None
    sight: Sight | None = None

    @property
    def known(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    def member(self, member_id: str) -> ConsumerMember:
        return self.known.members[member_id]

    def look(self) -> None:
        if self.group is not None:
            self.group, self.sight = refresh(self.group, self.topics, self.limits, self.now_ms, self.sight)

    def ask(self, ask: ConsumerBeat) -> ConsumerBeaten:
        self.look()
        outcome = heartbeat(self.group, ask, self.topics, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def fire(self, kind: TimerKind, member_id: str) -> None:
        """Let a timer run out that the group asks for."""
        timer = self.timer(kind, member_id)
        assert timer is not None
        self.group = fire(self.known, timer, self.limits, self.now_ms)

    def timer(self, kind: TimerKind, member_id: str) -> Timer | None:
        asked = {(one.timer.kind, one.timer.member_id): one.timer for one in timers(self.known, self.limits)}
        return asked.get((kind, member_id))


@dataclass
class Consumer:
    """A member that tells the truth: it uses what it was given, and says so."""

    desk: Desk
    member_id: str
    epoch: int = 0
    uses: Partitions = field(default_factory=dict)

    def join(self, *names: str, **changes: Any) -> ConsumerBeaten:
        self.uses = {}
        return self.take(self.desk.ask(a_join(self.member_id, *names, **changes)))

    def beat(self, **changes: Any) -> ConsumerBeaten:
        """Say what it uses, and use from then on what it is told."""
        return self.take(self.desk.ask(a_beat(self.member_id, self.epoch, owned=self.uses, **changes)))

    def take(self, reply: ConsumerBeaten) -> ConsumerBeaten:
        assert reply.fault is Fault.NONE, reply.message
        self.epoch = reply.epoch
        if reply.assignment is not None:
            self.uses = reply.assignment
        return reply

    @property
    def count(self) -> int:
        return sum(len(numbers) for numbers in self.uses.values())


def joined(desk: Desk, *member_ids: str, names: tuple[str, ...] = ("t",)) -> list[Consumer]:
    """Members that have joined one after the other and are all settled."""
    members = [Consumer(desk, member_id) for member_id in member_ids]
    for member in members:
        member.join(*names)
    for _ in members:
        for member in members:
            member.beat()
    return members
