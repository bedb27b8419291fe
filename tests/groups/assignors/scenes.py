"""Inputs of assignors: single scenes, and random histories in which members and topics come and go."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final

from dray.groups.assignors import Assignor, AssignorMember
from dray.groups.commands import Partitions

TOPICS_MAX: Final = 16
"""This many first ids of `small_id` stay in order in any Java hash set."""


def small_id(number: int) -> bytes:
    return number.to_bytes(16)


def member(*topic_ids: bytes, instance: str | None = None) -> AssignorMember:
    return AssignorMember(instance, None, frozenset(topic_ids))


@dataclass(frozen=True, slots=True)
class Scene:
    """The input of an assignor."""

    members: Mapping[str, AssignorMember]
    counts: Mapping[bytes, int]
    current: Mapping[str, Partitions] = field(default_factory=dict)

    @property
    def identical(self) -> bool:
        """Whether all members subscribe to the same existing topics."""
        known = {frozenset(one.topic_ids & self.counts.keys()) for one in self.members.values()}
        return len(known) <= 1

    def assigned(self, assignor: Assignor) -> dict[str, Partitions]:
        return assignor(self.members, self.counts, self.current)

    def after(self, targets: Mapping[str, Partitions]) -> "Scene":
        """The same group with another target, without members that left."""
        return replace(self, current={key: value for key, value in targets.items() if key in self.members})


@dataclass(slots=True)
class History:
    """A random history of a group."""

    rng: Random
    mixed: bool
    """Whether each member has its own subscription; otherwise all share one."""
    numbered: bool = False
    """Whether topic ids are those of `small_id`; otherwise they are random."""
    members: dict[str, AssignorMember] = field(default_factory=dict)
    counts: dict[bytes, int] = field(default_factory=dict)
    _shared_topics: frozenset[bytes] = frozenset()
    _created: int = 0

    def scenes(self, length: int) -> Iterator[Scene]:
        """Yield the group after each event, without a target; `Scene.after` sets the last one."""
        for _ in range(self.rng.randint(1, 4)):
            self._create()
        for _ in range(self.rng.randint(1, 8)):
            self._join()
        for _ in range(length):
            yield Scene(dict(self.members), dict(self.counts))
            for _ in range(self.rng.choice((1, 1, 1, 2, 5))):
                self._event()

    def _event(self) -> None:
        events = (self._join, self._join, self._leave, self._leave, self._grow, self._resubscribe)
        self.rng.choice((*events, self._create, self._delete))()

    def _join(self) -> None:
        member_id = f"member-{self.rng.getrandbits(64):016x}"
        instance = f"instance-{self.rng.getrandbits(64):016x}" if self.rng.random() < 0.3 else None
        self.members[member_id] = AssignorMember(instance, None, self._subscription())

    def _leave(self) -> None:
        if len(self.members) > 1:
            del self.members[self.rng.choice(sorted(self.members))]

    def _create(self) -> None:
        """Create a topic; as in Kafka, no id is used twice."""
        if self._created < TOPICS_MAX:
            topic = small_id(self._created) if self.numbered else self.rng.randbytes(16)
            self.counts[topic] = self.rng.randint(1, 30)
            self._created += 1
            self._resubscribe()

    def _delete(self) -> None:
        if len(self.counts) > 1:
            del self.counts[self.rng.choice(sorted(self.counts))]

    def _grow(self) -> None:
        if self.counts:
            self.counts[self.rng.choice(sorted(self.counts))] += self.rng.randint(1, 10)

    def _resubscribe(self) -> None:
        """Change the subscription of one member, or of all."""
        self._shared_topics = self._random_topics()
        changed = self.rng.sample(sorted(self.members), min(1, len(self.members)))
        for member_id in changed if self.mixed else self.members:
            self.members[member_id] = replace(self.members[member_id], topic_ids=self._subscription())

    def _subscription(self) -> frozenset[bytes]:
        return self._random_topics() if self.mixed else self._shared_topics

    def _random_topics(self) -> frozenset[bytes]:
        topics = sorted(self.counts)
        return frozenset(self.rng.sample(topics, self.rng.randint(min(1, len(topics)), len(topics))))


def chained(length: int, partitions: int) -> Scene:
    """Members that each share a topic with the next one; the earlier of the two owns all its partitions."""
    topics = [small_id(number) for number in range(length - 1)]
    members = {f"m{place:02}": member(*topics[max(0, place - 1) : place + 1]) for place in range(length)}
    held = tuple(range(partitions))
    current = {member_id: {topic: held} for member_id, topic in zip(members, topics, strict=False)}
    return Scene(members, dict.fromkeys(topics, partitions), current)


def large_group(rng: Random, members: int, topics: int) -> Iterator[Scene]:
    """A large mixed group with an arbitrary target, and the same group after half of it has left."""
    counts = {rng.randbytes(16): rng.randint(1, 80) for _ in range(topics)}
    ids = sorted(counts)
    group = {f"m{place}": member(*rng.sample(ids, rng.choice((1, 2, 5, topics)))) for place in range(members)}
    held: dict[str, dict[bytes, tuple[int, ...]]] = {member_id: {} for member_id in group}
    for topic, count in counts.items():
        readers = [member_id for member_id, one in group.items() if topic in one.topic_ids]
        few = rng.sample(readers, min(len(readers), 3))
        for number in range(count if few else 0):
            owner = rng.choice(few)
            held[owner][topic] = (*held[owner].get(topic, ()), number)
    yield Scene(group, counts, held)
    yield Scene(dict(rng.sample(sorted(group.items()), members // 2)), counts).after(held)
