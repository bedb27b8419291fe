"""Equal shares for members that are all subscribed to the same topics.

Shares differ by one partition at most. A member keeps what it holds up to its share, and the larger shares
go to those who hold that much, so that no assignment of equal shares moves less. What is free, and then
what was too much in a hand, goes to the members with room, one after the other.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from dray.groups.assignors.board import Board
from dray.groups.assignors.contract import id_order


def share_out(board: Board) -> None:
    loose = [(topic, partition) for topic, partitions in board.free.items() for partition in partitions]
    rooms: list[tuple[int, int]] = []
    for member, share in enumerate(_shares(board.sizes, sum(board.sizes) + len(loose))):
        room = share - board.sizes[member]
        if room > 0:
            rooms.append((member, room))
        elif room < 0:
            loose += _taken_back(board, member, -room)
    handing_out = iter(loose)
    for member, room in rooms:
        for topic, partition in islice(handing_out, room):
            board.give(topic, partition, member)


def _shares(sizes: Sequence[int], partitions: int) -> list[int]:
    """How many partitions each member gets."""
    least, extras = divmod(partitions, len(sizes))
    shares = []
    for place, size in enumerate(sizes):
        one_more = extras > 0 and (size > least or len(sizes) - place <= extras)
        extras -= one_more
        shares.append(least + one_more)
    return shares


def _taken_back(board: Board, member: int, surplus: int) -> Iterator[tuple[bytes, int]]:
    """Take from a hand what comes last in it."""
    hand = board.hands[member]
    held = [(topic, partition) for topic in sorted(hand, key=id_order) for partition in sorted(hand[topic])]
    for topic, partition in held[-surplus:]:
        board.take(topic, partition, member)
        yield topic, partition
