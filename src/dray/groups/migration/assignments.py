"""What classic members are told to read, in the bytes of their own protocol."""

from collections.abc import Mapping

from dray.groups.asks import Partitions
from dray.groups.consumer import Topic
from dray.groups.embedded import HIGHEST_VERSION, Assignment, Malformed, encode_assignment, version_of


def assignment_bytes(partitions: Partitions, topics: Mapping[str, Topic], subscription: bytes) -> bytes:
    """Write partitions in the version of the member's subscription; topics that are no more are left out."""
    names = {topic.topic_id: name for name, topic in topics.items()}
    named = {names[topic_id]: numbers for topic_id, numbers in partitions.items() if topic_id in names}
    return encode_assignment(Assignment(named), _version(subscription))


def _version(subscription: bytes) -> int:
    try:
        return min(version_of(subscription), HIGHEST_VERSION)
    except Malformed:
        # Of the protocols that a member offers only the first was read when it joined.
        return 0
