"""Protocols of a group: selection of one that all members support, and the topics it subscribes to.

At any time the members of a group have at least one protocol in common: a join that shares none with all of
them is rejected.

The metadata of a protocol belongs to the clients, and may be anything. For the protocol type "consumer" it
begins with version 0 of a subscription, whatever follows. Bytes that are not a subscription are not an error:
the topics of the group are then unknown.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from dray.groups.classic.state import ClassicGroup, Member, Phase, Protocols
from dray.groups.embedded import Malformed, decode_subscription

CONSUMER_TYPE: Final = "consumer"
_VERSION_0: Final = b"\0\0"


def supports(group: ClassicGroup, protocol_type: str, protocols: Protocols) -> bool:
    """Return whether a member with these protocols is compatible with the group."""
    if group.phase is Phase.EMPTY:
        return bool(protocol_type) and bool(protocols)
    if group.protocol_type != protocol_type:
        return False
    return bool(_common(group.members.values(), {name for name, _ in protocols}))


def select(members: Collection[Member]) -> str:
    """Return the protocol with the most votes. Each member votes for its first one that all members support.

    Kafka breaks ties by the order of a hash table; here the protocol that was voted for first wins.
    """
    candidates = _common(members, {name for name, _ in next(iter(members)).protocols})
    votes = Counter(_vote(member, candidates) for member in members)
    return max(votes, key=votes.__getitem__)


def metadata(member: Member, protocol: str | None) -> bytes:
    """Return the metadata of a member for one protocol."""
    return next((data for name, data in member.protocols if name == protocol), b"")


def _vote(member: Member, candidates: Collection[str]) -> str:
    return next(name for name, _ in member.protocols if name in candidates)


def _common(members: Iterable[Member], names: set[str]) -> set[str]:
    """Those of the names that every member supports. Sets, because clients may send lists of any length."""
    for member in members:
        names = names.intersection(name for name, _ in member.protocols)
        if not names:
            break
    return names


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """Return the topics that members subscribe to; None if unknown."""
    if group.protocol_type != CONSUMER_TYPE:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    distinct = {metadata(member, group.protocol) for member in group.members.values()}
    return _union([parse_topics(data) for data in distinct])


def is_subscribed(group: ClassicGroup, topic: str) -> bool:
    """Return whether members may read a topic; consumers whose topics are unknown may read any."""
    topics = subscribed_topics(group)
    return group.protocol_type == CONSUMER_TYPE if topics is None else topic in topics


def parse_topics(data: bytes) -> frozenset[str] | None:
    """Return the topics of a subscription of any version; None if the bytes are not a subscription."""
    try:
        return frozenset(decode_subscription(_VERSION_0 + data[len(_VERSION_0) :]).topics)
    except Malformed:
        return None


def _union(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None
