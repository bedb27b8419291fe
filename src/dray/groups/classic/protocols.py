"""Which protocol a group speaks: one that all members know, chosen by vote.

At any time the members of a group have at least one protocol in common: one who shares none with all of
them is not let in, nor may a member change to such a list.
"""

from collections import Counter
from collections.abc import Collection, Iterable

from dray.groups.classic.state import ClassicGroup, Member, Phase, Protocols


def supports(group: ClassicGroup, protocol_type: str, protocols: Protocols) -> bool:
    """Whether one who offers these protocols fits into the group."""
    if group.phase is Phase.EMPTY:
        return bool(protocol_type) and bool(protocols)
    if group.protocol_type != protocol_type:
        return False
    return bool(_common(group.members.values(), {name for name, _ in protocols}))


def select(members: Collection[Member]) -> str:
    """The protocol with most votes. Each member votes for the one it likes best of those all know.

    Between equals Kafka leaves it to the order of a hash table; here the one that was voted for first wins.
    """
    candidates = _common(members, {name for name, _ in next(iter(members)).protocols})
    votes = Counter(_vote(member, candidates) for member in members)
    return max(votes, key=votes.__getitem__)


def metadata(member: Member, protocol: str | None) -> bytes:
    """What a member said under one protocol."""
    return next((data for name, data in member.protocols if name == protocol), b"")


def _vote(member: Member, candidates: Collection[str]) -> str:
    return next(name for name, _ in member.protocols if name in candidates)


def _common(members: Iterable[Member], names: set[str]) -> set[str]:
    """Those of the names that every member knows. Clients may send lists of any length, so sets it is."""
    for member in members:
        names = names.intersection(name for name, _ in member.protocols)
        if not names:
            break
    return names
