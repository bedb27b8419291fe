"""The board on which the uniform assignor works: what is in each member's hand, and what lies free.

Members are numbered in the order of their ids, and are known by these numbers until the end. The board is
laid with the last target, less what may not stay: topics that a member is no longer subscribed to or that are
no more, partitions that a topic does not have, and what somebody before it holds already (a target that was
taken over from a classic group may say anything). After that every known partition is in one hand or free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dray.groups.asks import Partitions
from dray.groups.assignors.contract import AssignorMember, id_order, settled

Hand: TypeAlias = dict[bytes, set[int]]


@dataclass(slots=True)
class Board:
    """Changed in place by the moves of an assignor."""

    ids: Sequence[str]
    hands: list[Hand]
    sizes: list[int]
    """How many partitions are in each hand."""
    free: dict[bytes, list[int]]
    """Partitions in nobody's hand when the board was laid: every known topic is here, in order."""

    def give(self, topic: bytes, partition: int, member: int) -> None:
        self.hands[member].setdefault(topic, set()).add(partition)
        self.sizes[member] += 1

    def take(self, topic: bytes, partition: int, member: int) -> None:
        self.hands[member][topic].remove(partition)
        self.sizes[member] -= 1

    def targets(self, current: Mapping[str, Partitions]) -> dict[str, Partitions]:
        return settled(
            {member_id: _partitions(hand) for member_id, hand in zip(self.ids, self.hands, strict=True)},
            current,
        )


def lay(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> Board:
    ids = sorted(members)
    subscribed = frozenset[bytes]().union(*{member.topic_ids for member in members.values()})
    left = {
        topic: dict.fromkeys(range(counts[topic]), True)
        for topic in sorted(subscribed & counts.keys(), key=id_order)
    }
    hands = [_kept(members[member_id], current.get(member_id, {}), left) for member_id in ids]
    sizes = [sum(map(len, hand.values())) for hand in hands]
    return Board(ids, hands, sizes, {topic: list(partitions) for topic, partitions in left.items()})


def _kept(member: AssignorMember, held: Partitions, left: Mapping[bytes, dict[int, bool]]) -> Hand:
    """What a member may keep of what it held; takes it out of what is left."""
    return {
        topic: {partition for partition in held[topic] if left[topic].pop(partition, False)}
        for topic in held.keys() & member.topic_ids & left.keys()
    }


def _partitions(hand: Hand) -> Partitions:
    return {topic: tuple(sorted(hand[topic])) for topic in sorted(hand, key=id_order) if hand[topic]}
