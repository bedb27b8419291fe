"""Subscriptions of a consumer group: by topic name and by regex.

    members ─▶ names, and names that regexes match ─▶ the group's topics (id and partition count by name)

The topics change in two ways. When members or their subscriptions change, topics are added and dropped, and
those the group already knows stay as they are. When the cluster changes, `topic_refresh` compares all of
them. A regex is evaluated at once when a member sends it, so that the first reply contains the assignment
(Kafka evaluates it in the background, and the member gets its assignment with a later heartbeat).
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dray.groups.consumer.regexes import matching_names
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, TopicMetadata
from dray.groups.types import TopicsImage

ResolvedRegexes = Mapping[str, tuple[str, ...]]


def names_of(member: ConsumerMember, resolved: ResolvedRegexes) -> frozenset[str]:
    """Return all topic names that a member subscribes to."""
    return frozenset(member.names).union(resolved.get(member.regex, ()))


def topic_ids_of(group: ConsumerGroup, member: ConsumerMember) -> frozenset[bytes]:
    """Return the ids of the existing topics that a member subscribes to."""
    topics = group.topics
    return frozenset(topics[name].topic_id for name in names_of(member, group.regexes) if name in topics)


def subscribed_topics(group: ConsumerGroup) -> frozenset[str]:
    """Return all topic names that the group subscribes to, whether or not they exist."""
    return frozenset().union(*_distinct_names(group.members.values()), *group.regexes.values())


def _distinct_names(members: Iterable[ConsumerMember]) -> set[tuple[str, ...]]:
    """Return the distinct lists of names; most members of a group have the same one."""
    return {member.names for member in members}


def resubscribed(group: ConsumerGroup, topics: TopicsImage) -> ConsumerGroup:
    """Return the group with the regexes and topics of its members; raises `InvalidRegex`."""
    wanted = {member.regex for member in group.members.values()} - {""}
    known = group.regexes
    regexes = {
        regex: known[regex] if regex in known else visible_names(regex, topics) for regex in sorted(wanted)
    }
    group = replace(group, regexes=regexes)
    return replace(group, topics=_known_and_new(group, topics))


def visible_names(regex: str, topics: TopicsImage) -> tuple[str, ...]:
    """Return the names that a regex matches, without those that the client must not find."""
    return tuple(filter(topics.is_visible, matching_names(regex, topics.names())))


def unsubscribed(group: ConsumerGroup) -> ConsumerGroup:
    """Return the group without regexes and topics that no member subscribes to."""
    wanted = {member.regex for member in group.members.values()}
    group = replace(group, regexes={r: names for r, names in group.regexes.items() if r in wanted})
    names = subscribed_topics(group)
    return replace(group, topics={name: topic for name, topic in group.topics.items() if name in names})


def topics_by_name(names: Iterable[str], topics: TopicsImage) -> dict[str, TopicMetadata]:
    """Return the topics of these names that exist."""
    found = ((name, topics.find(name)) for name in sorted(names))
    return {
        name: TopicMetadata(topic.topic_id, topic.partitions) for name, topic in found if topic is not None
    }


def _known_and_new(group: ConsumerGroup, topics: TopicsImage) -> dict[str, TopicMetadata]:
    names = subscribed_topics(group)
    kept = {name: topic for name, topic in group.topics.items() if name in names}
    return kept | topics_by_name(names - kept.keys(), topics)


def is_subscribed(group: ConsumerGroup, topic: str) -> bool:
    """Return whether members read a topic, by name or by regex."""
    return topic in subscribed_topics(group)
