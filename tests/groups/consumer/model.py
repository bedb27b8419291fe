"""Model of several clients and brokers with one group: all events that may happen, and what must hold.

Each broker has its own image of the topics, which may lag, and applies commands to the stored group. Clients
act on assignments with a delay. Replies are lost, heartbeats are applied twice, sessions expire, brokers die.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from dray.groups.commands import ConsumerHeartbeat, Partitions
from dray.groups.consumer import (
    ConsumerGroup,
    LastRefresh,
    fire,
    heartbeat,
    refresh,
    state_name,
    take_over_members,
    timers,
)
from dray.groups.results import ConsumerHeartbeatResult
from dray.groups.timers import Timer, TimerKind
from dray.groups.types import GroupError
from tests.groups.consumer import invariants
from tests.groups.consumer.builders import HEARTBEAT_MS, LIMITS, Image, a_heartbeat, a_join, image

TOPICS: Final = ("t", "u", "ta")
BROKERS: Final = (1, 2)
SUBSCRIPTIONS: Final = (
    (("t",), ""),
    (("t", "u"), ""),
    (("u", "ta"), ""),
    ((), "t.*"),
    (("u",), "t."),
    ((), ""),
)
_REMOVED: Final = {
    GroupError.UNKNOWN_MEMBER_ID,
    GroupError.FENCED_MEMBER_EPOCH,
    GroupError.FENCED_INSTANCE_ID,
}

Subscription = tuple[tuple[str, ...], str]


@dataclass
class Client:
    """A client: what it believes, whatever the group has stored."""

    member_id: str
    instance_id: str | None
    names: tuple[str, ...] = ()
    regex: str = ""
    broker: int = 1
    epoch: int = 0
    uses: Partitions = field(default_factory=dict)
    assigned_partitions: Partitions = field(default_factory=dict)
    """What it is assigned; it begins to use it later."""
    is_member: bool = False
    """Whether it has joined and was not rejected since."""
    missed_reply: bool = False
    was_removed: bool = False
    """Whether it was rejected and has to join again."""

    def use_assignment(self) -> None:
        self.uses = self.assigned_partitions

    def use_nothing(self) -> None:
        self.uses = self.assigned_partitions = {}
        self.is_member = False

    def partitions(self) -> set[tuple[bytes, int]]:
        return {(topic_id, number) for topic_id, numbers in self.uses.items() for number in numbers}

    def heartbeat(self, *, full: bool) -> ConsumerHeartbeat:
        """Build a heartbeat that reports what it uses.

        Like real clients it reports only once it uses its assignment: otherwise it might begin to use
        partitions that it has just reported as not owned. After a missed reply it sends every field.
        """
        if full or self.missed_reply:
            self.use_assignment()
            full_request = replace(self.quiet_heartbeat(), owned=self.uses, rebalance_timeout_ms=60_000)
            return replace(full_request, names=self.names, regex=self.regex)
        return replace(
            self.quiet_heartbeat(), owned=self.uses if self.uses == self.assigned_partitions else None
        )

    def quiet_heartbeat(self, epoch: int | None = None) -> ConsumerHeartbeat:
        return a_heartbeat(
            self.member_id,
            self.epoch if epoch is None else epoch,
            instance_id=self.instance_id,
            broker=self.broker,
        )


class World:
    """Applies events and checks the invariants after each."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.topics = image(t=3, u=2)
        self.incarnations = 0
        """Counts topics and processes, each of which is a new one."""
        self.images: dict[int, Image] = dict.fromkeys(BROKERS, self.topics)
        self.last_refreshes: dict[int, LastRefresh | None] = dict.fromkeys(BROKERS)
        self.group: ConsumerGroup | None = None
        self.clients = [Client("a", None), Client("b", None), Client("c", "i"), Client("d", "j")]

    @property
    def known(self) -> ConsumerGroup:
        assert self.group is not None
        return self.group

    # Clients

    def join(self, client: Client, subscription: Subscription, broker: int, *, lost: bool = False) -> None:
        client.names, client.regex = subscription
        client.broker = broker
        client.use_nothing()
        command = a_join(
            client.member_id, *client.names, regex=client.regex, instance_id=client.instance_id, broker=broker
        )
        self.receive(client, self.apply(command, twice=lost), lost=lost)

    def send(
        self, client: Client, command: ConsumerHeartbeat, *, lost: bool = False, twice: bool = False
    ) -> None:
        if client.is_member:
            self.receive(client, self.apply(command, twice=twice), lost=lost or twice)

    def leave(self, client: Client, *, temporarily: bool, twice: bool) -> None:
        if not client.is_member:
            return
        command = client.quiet_heartbeat(-2 if temporarily and client.instance_id is not None else -1)
        client.use_nothing()
        self.apply(command, twice=twice)
        if client.instance_id is not None:
            self.incarnations += 1
            client.member_id = f"{client.instance_id}-{self.incarnations}"

    def receive(self, client: Client, reply: ConsumerHeartbeatResult, *, lost: bool) -> None:
        client.missed_reply = lost
        if lost:
            return
        if reply.error in _REMOVED:
            client.use_nothing()
            client.was_removed = True
            return
        assert reply.error is GroupError.NONE, reply
        client.is_member, client.was_removed, client.epoch = True, False, reply.epoch
        if reply.assignment is not None:
            client.assigned_partitions = reply.assignment

    # Brokers

    def apply(self, command: ConsumerHeartbeat, *, twice: bool = False) -> ConsumerHeartbeatResult:
        """Apply a command once or twice; the result of the second application is ignored."""
        reply = self._applied(command)
        if twice:
            self._applied(command)
        return reply

    def _applied(self, command: ConsumerHeartbeat) -> ConsumerHeartbeatResult:
        topics = self.images[command.broker]
        if self.group is not None:
            fresh, last_refresh = refresh(
                self.group, topics, LIMITS, self.now_ms, self.last_refreshes[command.broker]
            )
            self.last_refreshes[command.broker] = last_refresh
            self.store(fresh)
        outcome = heartbeat(self.group, command, topics, LIMITS, self.now_ms)
        if outcome.reply.error is not GroupError.NONE:
            assert outcome.group is self.group
        elif outcome.group is not None:
            self.store(outcome.group)
        return outcome.reply

    def store(self, group: ConsumerGroup) -> None:
        if self.group is not None:
            invariants.check_growth(self.group, group)
            assert (group == self.group) == (group is self.group)
        self.group = group
        invariants.check(group)

    # Events

    def timers(self) -> list[Timer]:
        return (
            [] if self.group is None else sorted((one.timer for one in timers(self.group, LIMITS)), key=str)
        )

    def fire(self, timer: Timer) -> None:
        self.store(fire(self.known, timer, LIMITS, self.now_ms))

    def kill_broker(self, dead: int) -> None:
        if self.group is None:
            return
        alive = set(BROKERS) - {dead}
        (owner,) = alive
        self.store(take_over_members(self.group, alive, owner))
        self.last_refreshes[dead] = None
        for client in self.clients:
            client.broker = owner

    def create_or_grow(self, name: str, more: int) -> None:
        known = self.topics.find(name)
        if known is None:
            self.incarnations += 1
            self.topics = self.topics.with_topic(name, 1 + more, self.incarnations)
        elif more:
            seen = replace(known, partitions=known.partitions + more)
            self.topics = Image(self.topics.version + 1, {**self.topics.seen, name: seen})

    def delete_topic(self, name: str) -> None:
        if self.topics.find(name) is not None:
            self.topics = self.topics.without_topic(name)

    def update_image(self, broker: int) -> None:
        self.images[broker] = self.topics

    # Invariants

    def check_no_partition_is_used_twice(self) -> None:
        """Checks the clients that are members; one that was removed may not know it yet."""
        used = [
            partition
            for client in self.clients
            if self._is_counted_on(client)
            for partition in client.partitions()
        ]
        assert len(used) == len(set(used))

    def check_final_state(self) -> None:
        """Without further events, all partitions are assigned, and then nothing changes any more."""
        if self.group is None:
            return
        self.images = dict.fromkeys(BROKERS, self.topics)
        self._expire_absent_members()
        for _ in range(2 * len(self.clients) + 6):
            self.now_ms += HEARTBEAT_MS
            for client in self.clients:
                self._continue(client)
        self._check_all_assigned()
        self._check_nothing_changes()

    def _is_counted_on(self, client: Client) -> bool:
        member = None if self.group is None else self.group.members.get(client.member_id)
        return member is not None and client.is_member and not member.has_left_temporarily

    def _expire_absent_members(self) -> None:
        there = {client.member_id for client in self.clients if client.is_member}
        for timer in self.timers():
            if timer.kind is TimerKind.SESSION and timer.member_id not in there:
                self.fire(timer)

    def _continue(self, client: Client) -> None:
        if client.is_member:
            self.send(client, client.heartbeat(full=True))
            client.use_assignment()
        elif client.was_removed:
            self.join(client, (client.names, client.regex), client.broker)

    def _check_all_assigned(self) -> None:
        members = [client for client in self.clients if client.is_member]
        assert self.known.members.keys() == {client.member_id for client in members}
        assert state_name(self.known) == ("Stable" if members else "Empty")
        for name, topic in self.known.topics.items():
            seen = self.topics.find(name)
            assert seen is not None
            assert (seen.topic_id, seen.partitions) == topic
        topics = self.known.topics.values()
        wanted = {(topic.topic_id, number) for topic in topics for number in range(topic.partitions)}
        assert sorted(wanted) == sorted(partition for client in members for partition in client.partitions())
        assert wanted == set(invariants.held_partitions(self.known))

    def _check_nothing_changes(self) -> None:
        group = self.known
        for client in self.clients:
            self.send(client, client.heartbeat(full=False))
            self.send(client, client.quiet_heartbeat())
        assert self.known is group
