"""What a group is subscribed to: the names its members say, and those that their patterns match.

    members ──▶ names and patterns' names ──▶ the group's topics (id and number of partitions by name)

The topics change in two ways. When members or their subscriptions change, topics are added and dropped, and
those the group already knows stay as they are. When the cluster changes, `sight` compares all of them. A
pattern is matched at once when a member brings it, so that its first answer holds its assignment (Kafka
matches in the background, and the member learns what it has from a later heartbeat).
"""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from dray.groups.consumer.patterns import matching
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, Topic
from dray.groups.topics import TopicImage

Resolved = Mapping[str, tuple[str, ...]]


def names_of(member: ConsumerMember, resolved: Resolved) -> frozenset[str]:
    """All that one member is subscribed to."""
    return frozenset(member.names).union(resolved.get(member.regex, ()))


def topic_ids_of(group: ConsumerGroup, member: ConsumerMember) -> frozenset[bytes]:
    """The ids of the topics that one member is subscribed to, as far as they exist."""
    topics = group.topics
    return frozenset(topics[name].topic_id for name in names_of(member, group.regexes) if name in topics)


def subscribed_topics(group: ConsumerGroup) -> frozenset[str]:
    """All that the group is subscribed to, whether it exists or not."""
    return frozenset().union(*_said(group.members.values()), *group.regexes.values())


def _said(members: Iterable[ConsumerMember]) -> set[tuple[str, ...]]:
    """The lists of names; most members of a group say the same one."""
    return {member.names for member in members}


def resubscribed(group: ConsumerGroup, topics: TopicImage) -> ConsumerGroup:
    """Fit patterns and topics to the members; raises `BadPattern`."""
    wanted = {member.regex for member in group.members.values()} - {""}
    known = group.regexes
    regexes = {
        regex: known[regex] if regex in known else matching(regex, topics.names()) for regex in sorted(wanted)
    }
    group = replace(group, regexes=regexes)
    return replace(group, topics=_fitted(group, topics))


def unsubscribed(group: ConsumerGroup) -> ConsumerGroup:
    """Drop the patterns and topics that no member is subscribed to."""
    wanted = {member.regex for member in group.members.values()}
    group = replace(group, regexes={r: names for r, names in group.regexes.items() if r in wanted})
    names = subscribed_topics(group)
    return replace(group, topics={name: topic for name, topic in group.topics.items() if name in names})


def seen_topics(names: Iterable[str], topics: TopicImage) -> dict[str, Topic]:
    """The topics of these names, as far as they exist."""
    found = ((name, topics.find(name)) for name in sorted(names))
    return {name: Topic(seen.topic_id, seen.partitions) for name, seen in found if seen is not None}


def _fitted(group: ConsumerGroup, topics: TopicImage) -> dict[str, Topic]:
    names = subscribed_topics(group)
    kept = {name: topic for name, topic in group.topics.items() if name in names}
    return kept | seen_topics(names - kept.keys(), topics)


def is_subscribed(group: ConsumerGroup, topic: str) -> bool:
    """Whether members of the group read a topic, by its name or by a pattern."""
    return topic in subscribed_topics(group)
