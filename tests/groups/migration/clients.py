"""Clients of both protocols that behave like real ones, step by step, in a group that migrates."""

from collections.abc import Iterable
from dataclasses import dataclass

from dray.groups.commands import LeavingMember
from dray.groups.embedded import (
    Assignment,
    NamedPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from dray.groups.results import JoinedMember, JoinResult, PendingReply, SyncResult
from dray.groups.types import GroupError
from tests.groups.builders import a_sync
from tests.groups.consumer import builders as consumer
from tests.groups.migration.builders import GroupHarness, a_heartbeat, a_join, subscription_bytes

Partition = tuple[str, int]
_LOST_MEMBERSHIP = {
    GroupError.UNKNOWN_MEMBER_ID,
    GroupError.FENCED_INSTANCE_ID,
    GroupError.FENCED_MEMBER_EPOCH,
    GroupError.GROUP_ID_NOT_FOUND,
}


@dataclass
class Client:
    """A client of either protocol."""

    harness: GroupHarness
    name: str
    topics: tuple[str, ...] = ("t",)
    member_id: str = ""
    uses: frozenset[Partition] = frozenset()
    is_running: bool = False
    """Whether it should be a member."""
    was_removed_unnoticed: bool = False
    """Whether it was removed without knowing it; a classic client may rejoin without ever knowing."""

    def step(self, *, lost: bool = False) -> None:
        raise NotImplementedError

    def subscribe(self, topics: tuple[str, ...]) -> None:
        self.topics = topics

    def _use_nothing(self) -> None:
        self.uses, self.was_removed_unnoticed = frozenset(), False

    def stop(self) -> None:
        raise NotImplementedError


@dataclass
class ConsumerClient(Client):
    """A client of the consumer protocol."""

    epoch: int = 0
    missed_reply: bool = False

    def step(self, *, lost: bool = False) -> None:
        self.member_id = self.name
        full = self.epoch == 0 or self.missed_reply
        command = consumer.a_heartbeat(
            self.name,
            self.epoch,
            owned=self._owned(),
            names=self.topics,
            rebalance_timeout_ms=60_000 if full else None,
        )
        reply = self.harness.consumer_heartbeat(command)
        self.missed_reply = lost
        if lost:
            return
        if reply.error in _LOST_MEMBERSHIP:
            self._forget()
            return
        assert reply.error is GroupError.NONE, reply
        self.epoch = reply.epoch
        if reply.assignment is not None:
            self.uses = self._named(reply.assignment.items())

    def stop(self) -> None:
        self.is_running = False
        if self.epoch:
            self.harness.consumer_heartbeat(consumer.a_heartbeat(self.name, -1))
        self._forget()

    def _forget(self) -> None:
        self.epoch = 0
        self._use_nothing()

    def _owned(self) -> dict[bytes, tuple[int, ...]]:
        owned: dict[bytes, list[int]] = {}
        for topic, number in sorted(self.uses):
            owned.setdefault(consumer.topic_id(topic), []).append(number)
        return {topic_id: tuple(numbers) for topic_id, numbers in owned.items()}

    def _named(self, partitions: Iterable[tuple[bytes, tuple[int, ...]]]) -> frozenset[Partition]:
        names = {seen.topic_id: name for name, seen in self.harness.topics.seen.items()}
        return frozenset((names[topic_id], number) for topic_id, numbers in partitions for number in numbers)


@dataclass
class ClassicClient(Client):
    """A client of the classic protocol; a cooperative one keeps using its partitions while it joins."""

    is_cooperative: bool = False
    generation: int = -1
    """-1 while it has to join."""
    must_sync: bool = False
    assignments: tuple[tuple[str, bytes], ...] = ()
    pending: PendingReply | None = None

    def step(self, *, lost: bool = False) -> None:
        if self.pending is not None:
            self._poll_pending()
        elif self.generation == -1:
            self._join(lost=lost)
        elif self.must_sync:
            self._receive_sync(self._sync(), lost=lost)
        else:
            self._heartbeat()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        if self.pending is None:
            self.topics, self.generation = topics, -1

    def stop(self) -> None:
        self.is_running = False
        if self.member_id:
            self.harness.leave(LeavingMember(self.member_id))
        self._forget()

    def _join(self, *, lost: bool) -> None:
        if not self.is_cooperative:
            self._use_nothing()
        command = a_join(
            self.member_id,
            subscription_bytes(*self.topics, owned=_grouped(self.uses)),
            new_member_id=f"{self.name}-id",
        )
        reply = self.harness.join(command)
        if isinstance(reply, PendingReply):
            self.pending = reply
        elif not lost:
            self._receive_join(reply)

    def _poll_pending(self) -> None:
        assert self.pending is not None
        reply = self.harness.try_complete(self.pending)
        if reply is None:
            return
        self.pending = None
        if isinstance(reply, JoinResult):
            self._receive_join(reply)
        else:
            self._receive_sync(reply, lost=False)

    def _receive_join(self, reply: JoinResult) -> None:
        if reply.error is GroupError.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
        elif reply.error in _LOST_MEMBERSHIP:
            self._forget()
        elif reply.error is GroupError.NONE:
            self.member_id, self.generation, self.must_sync = reply.member_id, reply.generation, True
            leads = bool(reply.leader) and reply.leader == reply.member_id
            self.assignments = _assigned(self.harness, reply.members) if leads else ()
        else:
            assert reply.error is GroupError.REBALANCE_IN_PROGRESS, reply

    def _sync(self) -> SyncResult | PendingReply:
        return self.harness.sync(a_sync(self.member_id, self.generation, assignments=self.assignments))

    def _receive_sync(self, reply: SyncResult | PendingReply, *, lost: bool) -> None:
        if isinstance(reply, PendingReply):
            self.pending = reply
        elif lost:
            return
        elif reply.error in _LOST_MEMBERSHIP:
            self._forget()
        elif reply.error is not GroupError.NONE:
            self.generation = -1
        else:
            self._take(decode_assignment(reply.assignment).partitions if reply.assignment else {})

    def _take(self, partitions: NamedPartitions) -> None:
        now = frozenset((topic, number) for topic, numbers in partitions.items() for number in numbers)
        has_revoked = bool(self.uses - now)
        self.uses, self.must_sync, self.was_removed_unnoticed = now, False, False
        if has_revoked:
            # Others wait for the partitions it has revoked; it rejoins to report that.
            self.generation = -1

    def _heartbeat(self) -> None:
        error = self.harness.heartbeat(a_heartbeat(self.member_id, self.generation))
        if error in _LOST_MEMBERSHIP:
            self._forget()
        elif error is not GroupError.NONE:
            self.generation = -1

    def _forget(self) -> None:
        self.member_id, self.generation, self.must_sync, self.pending = "", -1, False, None
        self._use_nothing()


def _grouped(partitions: Iterable[Partition]) -> NamedPartitions:
    grouped: NamedPartitions = {}
    for topic, number in sorted(partitions):
        grouped[topic] = (*grouped.get(topic, ()), number)
    return grouped


def _assigned(harness: GroupHarness, members: Iterable[JoinedMember]) -> tuple[tuple[str, bytes], ...]:
    """The leader's assignment: round robin, without partitions that another member still owns."""
    subscriptions = {member.member_id: decode_subscription(member.metadata) for member in members}
    owner = {
        (topic, number): member_id
        for member_id, subscription in subscriptions.items()
        for topic, numbers in (subscription.owned or {}).items()
        for number in numbers
    }
    shares: dict[str, set[Partition]] = {member_id: set() for member_id in subscriptions}
    for index, partition in enumerate(_all_partitions(harness)):
        able = [member_id for member_id, sub in subscriptions.items() if partition[0] in sub.topics]
        if able:
            chosen = able[index % len(able)]
            if owner.get(partition, chosen) == chosen:
                shares[chosen].add(partition)
    return tuple(
        (member_id, encode_assignment(Assignment(_grouped(share)), 1)) for member_id, share in shares.items()
    )


def _all_partitions(harness: GroupHarness) -> list[Partition]:
    return [
        (name, number)
        for name, seen in sorted(harness.topics.seen.items())
        for number in range(seen.partitions)
    ]
