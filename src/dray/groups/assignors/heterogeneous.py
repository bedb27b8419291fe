"""Balance between members with different subscriptions.

First the unassigned partitions are assigned, topic after topic, to the subscriber with the lowest load.
Topics with many partitions per subscriber come first, so that the small ones can even out what these leave
uneven. Then each topic is leveled by itself: partitions move from the subscribers with the highest load to
those with the lowest, round after round, until a whole round changes nothing.

This ends where no single move would help. The result is not always optimal (loads of 9, 10 and 11 stay, when
one partition would have to move from the third to the second and another from the second to the first), and
with long chains of overlapping subscriptions it stops after `ROUNDS_MAX` rounds; both as in Kafka.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Final, TypeAlias

from dray.groups.assignors.builder import AssignmentBuilder
from dray.groups.assignors.contract import id_order
from dray.groups.assignors.load_levels import filling, lowering

ROUNDS_MAX: Final = 16

Subscribers: TypeAlias = Mapping[bytes, Sequence[int]]


def balance(builder: AssignmentBuilder, subscriptions: Sequence[frozenset[bytes]]) -> None:
    subscribers = _subscribers(builder, subscriptions)
    topics = _heaviest_first(builder, subscribers)
    for topic in topics:
        _assign_topic(builder, topic, subscribers[topic])
    _level_all(builder, [topic for topic in topics if len(subscribers[topic]) > 1], subscribers)


def _subscribers(builder: AssignmentBuilder, subscriptions: Sequence[frozenset[bytes]]) -> Subscribers:
    subscribers: dict[bytes, list[int]] = {topic: [] for topic in builder.unassigned}
    for member, subscribed in enumerate(subscriptions):
        for topic in subscribed & subscribers.keys():
            subscribers[topic].append(member)
    return subscribers


def _heaviest_first(builder: AssignmentBuilder, subscribers: Subscribers) -> list[bytes]:
    partitions = {topic: len(free) for topic, free in builder.unassigned.items()}
    for assigned in builder.assigned:
        for topic, held in assigned.items():
            partitions[topic] += len(held)

    def weight(topic: bytes) -> tuple[float, int, tuple[int, int]]:
        readers = len(subscribers[topic])
        return -partitions[topic] / readers, readers, id_order(topic)

    return sorted(builder.unassigned, key=weight)


def _assign_topic(builder: AssignmentBuilder, topic: bytes, subscribers: Sequence[int]) -> None:
    if not builder.unassigned[topic]:
        return
    takers = filling(sorted((builder.sizes[member], member) for member in subscribers))
    for partition, (_, taker) in zip(builder.unassigned[topic], takers, strict=False):
        builder.assign(topic, partition, taker)


def _level_all(builder: AssignmentBuilder, topics: Sequence[bytes], subscribers: Subscribers) -> None:
    """Level each topic again and again, until all others were found level since the last move."""
    unsure = len(topics)
    for topic in chain.from_iterable(repeat(topics, ROUNDS_MAX)):
        moved = _level(builder, topic, subscribers[topic])
        unsure = len(topics) - 1 if moved else unsure - 1
        if not unsure:
            return


def _level(builder: AssignmentBuilder, topic: bytes, subscribers: Sequence[int]) -> bool:
    """Move partitions of one topic as long as that helps; returns whether any moved."""
    loads = sorted((builder.sizes[member], member) for member in subscribers)
    if loads[-1][0] - loads[0][0] <= 1:
        return False
    stocks = {member: sorted(builder.assigned[member].get(topic, ())) for member in subscribers}
    moved = False
    for (high, giver, partition), (low, taker) in zip(lowering(loads, stocks), filling(loads), strict=False):
        if high - low <= 1:
            break
        builder.unassign(topic, partition, giver)
        builder.assign(topic, partition, taker)
        moved = True
    return moved
