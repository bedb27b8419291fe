"""Builders of topics and heartbeats, a harness, and members that behave like clients."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dray.groups.commands import ConsumerHeartbeat, Partitions
from dray.groups.consumer import ConsumerGroup, ConsumerMember, LastRefresh, fire, heartbeat, refresh, timers
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult
from dray.groups.timers import Timer, TimerKind
from dray.groups.types import GroupError, TopicImage

LIMITS = GroupLimits(consumer_assignment_interval_ms=0)
HEARTBEAT_MS = LIMITS.consumer_heartbeat_interval_ms


def topic_id(name: str, incarnation: int = 0) -> bytes:
    """The id of a topic; each incarnation has its own."""
    return hashlib.md5(f"{name}/{incarnation}".encode(), usedforsecurity=False).digest()


@dataclass(frozen=True, slots=True)
class Image:
    """All topics at one moment."""

    version: int
    seen: Mapping[str, TopicImage]
    hidden: frozenset[str] = frozenset()
    """Topics that the client of the next request may not describe."""

    def find(self, name: str) -> TopicImage | None:
        return self.seen.get(name)

    def find_id(self, topic_id: bytes) -> TopicImage | None:
        return next((seen for seen in self.seen.values() if seen.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return frozenset(self.seen)

    def is_visible(self, name: str) -> bool:
        return name not in self.hidden

    def with_topic(self, name: str, partitions: int, incarnation: int = 0) -> "Image":
        seen = TopicImage(name, topic_id(name, incarnation), partitions)
        return Image(self.version + 1, {**self.seen, name: seen})

    def without_topic(self, name: str) -> "Image":
        return Image(self.version + 1, {other: seen for other, seen in self.seen.items() if other != name})


def image(**partitions: int) -> Image:
    found = Image(1, {})
    for name, count in partitions.items():
        found = found.with_topic(name, count)
    return found


def parts(**numbers: Iterable[int]) -> dict[bytes, tuple[int, ...]]:
    """Partitions by topic id, as members get them."""
    return {topic_id(name): tuple(of) for name, of in numbers.items()}


def a_heartbeat(member_id: str, epoch: int, **changes: Any) -> ConsumerHeartbeat:
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
    return ConsumerHeartbeat(**fields | changes)


def a_join(member_id: str, *names: str, **changes: Any) -> ConsumerHeartbeat:
    fields: dict[str, Any] = {"names": names, "rebalance_timeout_ms": 60_000, "owned": {}}
    return a_heartbeat(member_id, 0, **fields | changes)


@dataclass
class GroupHarness:
    """Hosts one group: refreshes its topics, then applies and stores each heartbeat."""

    topics: Image
    limits: GroupLimits = LIMITS
    now_ms: int = 1_000_000
    group: ConsumerGroup | None = None
    last_refresh: LastRefresh | None = None

    @property
    def known(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    def member(self, member_id: str) -> ConsumerMember:
        return self.known.members[member_id]

    def refresh(self) -> None:
        if self.group is not None:
            self.group, self.last_refresh = refresh(
                self.group, self.topics, self.limits, self.now_ms, self.last_refresh
            )

    def send(self, command: ConsumerHeartbeat) -> ConsumerHeartbeatResult:
        self.refresh()
        outcome = heartbeat(self.group, command, self.topics, self.limits, self.now_ms)
        self.group = outcome.group
        return outcome.reply

    def fire(self, kind: TimerKind, member_id: str) -> None:
        """Fire a timer that the group asks for."""
        timer = self.timer(kind, member_id)
        assert timer is not None
        self.group = fire(self.known, timer, self.limits, self.now_ms)

    def timer(self, kind: TimerKind, member_id: str) -> Timer | None:
        specs = {(one.timer.kind, one.timer.member_id): one.timer for one in timers(self.known, self.limits)}
        return specs.get((kind, member_id))


@dataclass
class Consumer:
    """A member that uses exactly what it is assigned, and reports so."""

    harness: GroupHarness
    member_id: str
    epoch: int = 0
    uses: Partitions = field(default_factory=dict)

    def join(self, *names: str, **changes: Any) -> ConsumerHeartbeatResult:
        self.uses = {}
        return self.take(self.harness.send(a_join(self.member_id, *names, **changes)))

    def heartbeat(self, **changes: Any) -> ConsumerHeartbeatResult:
        """Report what it uses, and use what it is assigned from then on."""
        return self.take(
            self.harness.send(a_heartbeat(self.member_id, self.epoch, owned=self.uses, **changes))
        )

    def take(self, reply: ConsumerHeartbeatResult) -> ConsumerHeartbeatResult:
        assert reply.error is GroupError.NONE, reply.message
        self.epoch = reply.epoch
        if reply.assignment is not None:
            self.uses = reply.assignment
        return reply

    @property
    def count(self) -> int:
        return sum(len(numbers) for numbers in self.uses.values())


def joined(harness: GroupHarness, *member_ids: str, names: tuple[str, ...] = ("t",)) -> list[Consumer]:
    """Members that have joined one after the other and have reached their targets."""
    members = [Consumer(harness, member_id) for member_id in member_ids]
    for member in members:
        member.join(*names)
    for _ in members:
        for member in members:
            member.heartbeat()
    return members
