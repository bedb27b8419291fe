"""When a committed offset is too old to be kept.

An offset is kept while its group may read on from there: as long as members subscribe to the topic, or it is
not known whether they do. Then its time begins, with the last commit or when the last member left.
"""

from dray.groups import classic, consumer
from dray.groups.classic import ClassicGroup, Phase
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.stored import CommittedOffset


def has_expired(group: Group, topic: str, offset: CommittedOffset, limits: GroupLimits, now_ms: int) -> bool:
    """Whether an offset may go. The time that a client asked for counts in place of the usual one."""
    since_ms = _unused_since(group, topic, offset)
    if since_ms is None:
        return False
    if offset.expires_at_ms is not None:
        return now_ms >= offset.expires_at_ms
    return now_ms - since_ms >= limits.offsets_retention_ms


def _unused_since(group: Group, topic: str, offset: CommittedOffset) -> int | None:
    """Since when nobody has needed the offset; None if somebody may."""
    if not isinstance(group, ClassicGroup):
        return None if consumer.is_subscribed(group, topic) else offset.committed_at_ms
    if classic.is_simple(group):
        return offset.committed_at_ms
    if classic.is_empty(group):
        return max(offset.committed_at_ms, group.changed_at_ms)
    topics = classic.subscribed_topics(group)
    may_read = group.phase is not Phase.STABLE or topics is None or topic in topics
    return None if may_read else offset.committed_at_ms
