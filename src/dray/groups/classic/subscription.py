"""Which topics a group reads, as far as that is known.

The metadata of a protocol belongs to the clients, and may be anything. Those of the type "consumer" begin it
with what was version 0 of their subscription, whatever came after. Bytes that are something else are no
error: then the group does not know its topics.
"""

from typing import Final

from dray.groups.classic.protocols import metadata
from dray.groups.classic.state import ClassicGroup
from dray.groups.embedded import Malformed, decode_subscription

CONSUMER_TYPE: Final = "consumer"
_VERSION_0: Final = b"\0\0"


def subscribed_topics(group: ClassicGroup) -> frozenset[str] | None:
    """The topics that members of the group subscribe to; None if that is not known."""
    if group.protocol_type != CONSUMER_TYPE:
        return None
    if not group.members:
        return frozenset()
    if group.protocol is None:
        return None
    said = {metadata(member, group.protocol) for member in group.members.values()}
    return _union([parse_topics(data) for data in said])


def is_subscribed(group: ClassicGroup, topic: str) -> bool:
    """Whether members of the group read a topic; consumers whose topics are not known may read any."""
    topics = subscribed_topics(group)
    return group.protocol_type == CONSUMER_TYPE if topics is None else topic in topics


def parse_topics(data: bytes) -> frozenset[str] | None:
    """The topics of one subscription of whichever version; None if the bytes are none."""
    try:
        return frozenset(decode_subscription(_VERSION_0 + data[len(_VERSION_0) :]).topics)
    except Malformed:
        return None


def _union(parts: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [part for part in parts if part is not None]
    return frozenset().union(*known) if len(known) == len(parts) else None
