"""Balance between members with different subscriptions.

First what is free is given out, topic after topic, to whoever of its subscribers holds least. Topics of which
each subscriber would have to read much come first: the small ones then even out what these left uneven. After
that each topic is levelled by itself, partitions going from the subscribers that hold most to those that
hold least, round after round until a whole round changes nothing.

This ends where no single move would help. It is not always the best there is (9, 10 and 11 partitions, when
one from the third to the second and one from the second to the first would be needed), and with long chains
of overlapping subscriptions it is cut short after `ROUNDS_MAX` rounds; both as in Kafka.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, repeat
from typing import Final, TypeAlias

from dray.groups.assignors.board import Board
from dray.groups.assignors.contract import id_order
from dray.groups.assignors.levels import filling, lowering

ROUNDS_MAX: Final = 16

Subscribers: TypeAlias = Mapping[bytes, Sequence[int]]


def balance(board: Board, subscriptions: Sequence[frozenset[bytes]]) -> None:
    subscribers = _subscribers(board, subscriptions)
    topics = _heaviest_first(board, subscribers)
    for topic in topics:
        _give_out(board, topic, subscribers[topic])
    _level_all(board, [topic for topic in topics if len(subscribers[topic]) > 1], subscribers)


def _subscribers(board: Board, subscriptions: Sequence[frozenset[bytes]]) -> Subscribers:
    lines: dict[bytes, list[int]] = {topic: [] for topic in board.free}
    for member, subscribed in enumerate(subscriptions):
        for topic in subscribed & lines.keys():
            lines[topic].append(member)
    return lines


def _heaviest_first(board: Board, subscribers: Subscribers) -> list[bytes]:
    partitions = {topic: len(free) for topic, free in board.free.items()}
    for hand in board.hands:
        for topic, held in hand.items():
            partitions[topic] += len(held)

    def weight(topic: bytes) -> tuple[float, int, tuple[int, int]]:
        readers = len(subscribers[topic])
        return -partitions[topic] / readers, readers, id_order(topic)

    return sorted(board.free, key=weight)


def _give_out(board: Board, topic: bytes, subscribers: Sequence[int]) -> None:
    if not board.free[topic]:
        return
    takers = filling(sorted((board.sizes[member], member) for member in subscribers))
    for partition, (_, taker) in zip(board.free[topic], takers, strict=False):
        board.give(topic, partition, taker)


def _level_all(board: Board, topics: Sequence[bytes], subscribers: Subscribers) -> None:
    """Level each topic again and again, until all the others have been found level since the last move."""
    unsure = len(topics)
    for topic in chain.from_iterable(repeat(topics, ROUNDS_MAX)):
        moved = _level(board, topic, subscribers[topic])
        unsure = len(topics) - 1 if moved else unsure - 1
        if not unsure:
            return


def _level(board: Board, topic: bytes, subscribers: Sequence[int]) -> bool:
    """Move partitions of one topic as long as that helps; tell whether any was."""
    loads = sorted((board.sizes[member], member) for member in subscribers)
    if loads[-1][0] - loads[0][0] <= 1:
        return False
    stocks = {member: sorted(board.hands[member].get(topic, ())) for member in subscribers}
    moved = False
    for (high, giver, partition), (low, taker) in zip(lowering(loads, stocks), filling(loads), strict=False):
        if high - low <= 1:
            break
        board.take(topic, partition, giver)
        board.give(topic, partition, taker)
        moved = True
    return moved
