"""The uniform assignor: every member reads as many partitions as the next, and moves are few.

Members that are all subscribed to the same topics are dealt with in one go (`identical`). As soon as two
differ, equal shares may be impossible, and the balance is approached topic by topic (`mixed`).
"""

from collections.abc import Mapping

from dray.groups.asks import Partitions
from dray.groups.assignors.board import lay
from dray.groups.assignors.contract import AssignorMember
from dray.groups.assignors.identical import share_out
from dray.groups.assignors.mixed import balance


def assign_uniformly(
    members: Mapping[str, AssignorMember], counts: Mapping[bytes, int], current: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    board = lay(members, counts, current)
    subscriptions = [members[member_id].topic_ids for member_id in board.ids]
    if len({frozenset(topics & board.free.keys()) for topics in set(subscriptions)}) == 1:
        share_out(board)
    else:
        balance(board, subscriptions)
    return board.targets(current)
