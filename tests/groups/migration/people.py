"""Clients of both protocols that do what real ones do, step by step, on a group that changes under them."""

from collections.abc import Iterable
from dataclasses import dataclass

from dray.groups.asks import Leaver
from dray.groups.embedded import (
    Assignment,
    NamedPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
)
from dray.groups.faults import Fault
from dray.groups.outcome import Parked
from dray.groups.replies import Joined, JoinedMember, Synced
from tests.groups.consumer import builders as consumer
from tests.groups.migration.builders import Desk, a_beat, a_join, a_sync, said

Partition = tuple[str, int]
_LOST_MEMBERSHIP = {
    Fault.UNKNOWN_MEMBER_ID,
    Fault.FENCED_INSTANCE_ID,
    Fault.FENCED_MEMBER_EPOCH,
    Fault.GROUP_ID_NOT_FOUND,
}


@dataclass
class Person:
    """What clients of both protocols have in common."""

    desk: Desk
    name: str
    topics: tuple[str, ...] = ("t",)
    member_id: str = ""
    uses: frozenset[Partition] = frozenset()
    is_on: bool = False
    """Whether it is meant to run."""
    is_ghost: bool = False
    """Whether it was put out and cannot know; a classic one may be let in again without being told."""

    def step(self, *, lost: bool = False) -> None:
        raise NotImplementedError

    def subscribe(self, topics: tuple[str, ...]) -> None:
        self.topics = topics

    def _use_nothing(self) -> None:
        self.uses, self.is_ghost = frozenset(), False

    def stop(self) -> None:
        raise NotImplementedError


@dataclass
class NewPerson(Person):
    """Speaks the consumer protocol."""

    epoch: int = 0
    missed_an_answer: bool = False

    def step(self, *, lost: bool = False) -> None:
        self.member_id = self.name
        says_all = self.epoch == 0 or self.missed_an_answer
        ask = consumer.a_beat(
            self.name,
            self.epoch,
            owned=self._owned(),
            names=self.topics,
            rebalance_timeout_ms=60_000 if says_all else None,
        )
        reply = self.desk.heartbeat(ask)
        self.missed_an_answer = lost
        if lost:
            return
        if reply.fault in _LOST_MEMBERSHIP:
            self._forget()
            return
        assert reply.fault is Fault.NONE, reply
        self.epoch = reply.epoch
        if reply.assignment is not None:
            self.uses = self._named(reply.assignment.items())

    def stop(self) -> None:
        self.is_on = False
        if self.epoch:
            self.desk.heartbeat(consumer.a_beat(self.name, -1))
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
        names = {seen.topic_id: name for name, seen in self.desk.topics.seen.items()}
        return frozenset((names[topic_id], number) for topic_id, numbers in partitions for number in numbers)


@dataclass
class OldPerson(Person):
    """Speaks the classic protocol; cooperative ones go on using what they have while they join."""

    is_cooperative: bool = False
    generation: int = -1
    """-1 while it has to join."""
    must_sync: bool = False
    brought: tuple[tuple[str, bytes], ...] = ()
    waits: Parked | None = None

    def step(self, *, lost: bool = False) -> None:
        if self.waits is not None:
            self._ask_after()
        elif self.generation == -1:
            self._joins(lost=lost)
        elif self.must_sync:
            self._heard_sync(self._sync(), lost=lost)
        else:
            self._beats()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        if self.waits is None:
            self.topics, self.generation = topics, -1

    def stop(self) -> None:
        self.is_on = False
        if self.member_id:
            self.desk.leave(Leaver(self.member_id))
        self._forget()

    def _joins(self, *, lost: bool) -> None:
        if not self.is_cooperative:
            self._use_nothing()
        ask = a_join(self.member_id, said(*self.topics, owned=_grouped(self.uses)), new_id=f"{self.name}-id")
        reply = self.desk.join(ask)
        if isinstance(reply, Parked):
            self.waits = reply
        elif not lost:
            self._heard_join(reply)

    def _ask_after(self) -> None:
        assert self.waits is not None
        reply = self.desk.settle(self.waits)
        if reply is None:
            return
        self.waits = None
        if isinstance(reply, Joined):
            self._heard_join(reply)
        else:
            self._heard_sync(reply, lost=False)

    def _heard_join(self, reply: Joined) -> None:
        if reply.fault is Fault.MEMBER_ID_REQUIRED:
            self.member_id = reply.member_id
        elif reply.fault in _LOST_MEMBERSHIP:
            self._forget()
        elif reply.fault is Fault.NONE:
            self.member_id, self.generation, self.must_sync = reply.member_id, reply.generation, True
            leads = bool(reply.leader) and reply.leader == reply.member_id
            self.brought = _assigned(self.desk, reply.members) if leads else ()
        else:
            assert reply.fault is Fault.REBALANCE_IN_PROGRESS, reply

    def _sync(self) -> Synced | Parked:
        return self.desk.sync(a_sync(self.member_id, self.generation, assignments=self.brought))

    def _heard_sync(self, reply: Synced | Parked, *, lost: bool) -> None:
        if isinstance(reply, Parked):
            self.waits = reply
        elif lost:
            return
        elif reply.fault in _LOST_MEMBERSHIP:
            self._forget()
        elif reply.fault is not Fault.NONE:
            self.generation = -1
        else:
            self._take(decode_assignment(reply.assignment).partitions if reply.assignment else {})

    def _take(self, partitions: NamedPartitions) -> None:
        now = frozenset((topic, number) for topic, numbers in partitions.items() for number in numbers)
        gave_up = bool(self.uses - now)
        self.uses, self.must_sync, self.is_ghost = now, False, False
        if gave_up:
            # Others wait for what it gave up: it joins again to say so.
            self.generation = -1

    def _beats(self) -> None:
        fault = self.desk.beat(a_beat(self.member_id, self.generation))
        if fault in _LOST_MEMBERSHIP:
            self._forget()
        elif fault is not Fault.NONE:
            self.generation = -1

    def _forget(self) -> None:
        self.member_id, self.generation, self.must_sync, self.waits = "", -1, False, None
        self._use_nothing()


def _grouped(partitions: Iterable[Partition]) -> NamedPartitions:
    grouped: NamedPartitions = {}
    for topic, number in sorted(partitions):
        grouped[topic] = (*grouped.get(topic, ()), number)
    return grouped


def _assigned(desk: Desk, members: Iterable[JoinedMember]) -> tuple[tuple[str, bytes], ...]:
    """What a leader works out: all in turn, but nothing that another still owns."""
    said_by = {member.member_id: decode_subscription(member.metadata) for member in members}
    owner = {
        (topic, number): member_id
        for member_id, subscription in said_by.items()
        for topic, numbers in (subscription.owned or {}).items()
        for number in numbers
    }
    shares: dict[str, set[Partition]] = {member_id: set() for member_id in said_by}
    for turn, partition in enumerate(_all_partitions(desk)):
        able = [member_id for member_id, sub in said_by.items() if partition[0] in sub.topics]
        if able:
            chosen = able[turn % len(able)]
            if owner.get(partition, chosen) == chosen:
                shares[chosen].add(partition)
    return tuple(
        (member_id, encode_assignment(Assignment(_grouped(share)), 1)) for member_id, share in shares.items()
    )


def _all_partitions(desk: Desk) -> list[Partition]:
    return [
        (name, number) for name, seen in sorted(desk.topics.seen.items()) for number in range(seen.partitions)
    ]
