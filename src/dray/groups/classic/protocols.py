"""Which protocol a group speaks: one that all members know, chosen by vote.

At any time the members of a group have at least one protocol in common: one who shares none with all of
them is not let in, nor may a member change to such a list.
"""

from collections import Counter
from collections.abc import Collection

from dray.groups.classic.state import ClassicGroup, Member, Phase, Protocols


def supports(group: ClassicGroup, protocol_type: str, protocols: Protocols) -> bool:
    """Whether one who offers these protocols fits into the group."""
    if group.phase is Phase.EMPTY:
        return bool(protocol_type) and bool(protocols)
    members = group.members.values()
    return group.protocol_type == protocol_type and any(_all_know(members, name) for name, _ in protocols)


def select(members: Collection[Member]) -> str:
    """The protocol with most votes. Each member votes for the one it likes best of those all know.

    Between equals Kafka leaves it to the order of a hash table; here the one that was voted for first wins.
    """
    anyone = next(iter(members))
    candidates = {name for name, _ in anyone.protocols if _all_know(members, name)}
    votes = Counter(_vote(member, candidates) for member in members)
    return max(votes, key=votes.__getitem__)


def metadata(member: Member, protocol: str | None) -> bytes:
    """What a member said under one protocol."""
    return next((data for name, data in member.protocols if name == protocol), b"")


def _vote(member: Member, candidates: Collection[str]) -> str:
    return next(name for name, _ in member.protocols if name in candidates)


def _all_know(members: Collection[Member], protocol: str) -> bool:
    # Plain loops: with every join, everybody's protocols are looked at.
    for member in members:
        for name, _ in member.protocols:
            if name == protocol:
                break
        else:
            return False
    return True
