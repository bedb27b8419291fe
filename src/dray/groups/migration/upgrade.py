"""From the classic protocol to the consumer protocol, while members are in the group.

A client of the consumer protocol that joins a classic group changes the whole group over. The members it
finds stay what they are, classic members of a group of the consumer protocol (see `inside`), under their
ids and with the partitions that their last leader gave them. Nothing is moved by the change itself; the
newcomer then brings about a new target as in any group.

Everybody who waits for an answer to a join or a sync is told to join again.
"""

from dray.groups.asks import ConsumerBeat
from dray.groups.classic import ClassicGroup, is_empty
from dray.groups.classic.subscription import CONSUMER_TYPE
from dray.groups.consumer import ConsumerGroup, heartbeat
from dray.groups.consumer.checks import Refused, check_request
from dray.groups.consumer.state import JOINS
from dray.groups.embedded import Malformed
from dray.groups.faults import Fault
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.migration.taking_along import Inconvertible, upgraded
from dray.groups.outcome import Outcome
from dray.groups.replies import ConsumerBeaten
from dray.groups.topics import TopicImage


def heartbeat_to_classic(
    group: ClassicGroup, ask: ConsumerBeat, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> Outcome[Group, ConsumerBeaten]:
    """Apply a heartbeat of the consumer protocol to a classic group. Whoever is refused changes nothing."""
    try:
        check_request(ask)
        changed_over = _changed_over(group, ask, topics, limits, now_ms)
    except Refused as refused:
        return Outcome(group, ConsumerBeaten(refused.fault, refused.message))
    outcome = heartbeat(changed_over, ask, topics, limits, now_ms)
    if outcome.group is None or outcome.reply.fault is not Fault.NONE:
        return Outcome(group, outcome.reply)
    return Outcome(outcome.group, outcome.reply)


def _changed_over(
    group: ClassicGroup, ask: ConsumerBeat, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> ConsumerGroup | None:
    """The group as one of the consumer protocol; None if there is nobody to take along."""
    if ask.epoch != JOINS:
        raise Refused(Fault.GROUP_ID_NOT_FOUND, f"Group {ask.group_id} is not a consumer group.")
    if is_empty(group):
        return None
    _check_may_upgrade(group, ask.group_id, limits)
    try:
        return upgraded(group, topics, now_ms)
    except Malformed as malformed:
        raise _refused(ask.group_id, "the embedded consumer protocol is malformed") from malformed
    except Inconvertible as inconvertible:
        raise _refused(ask.group_id, str(inconvertible)) from inconvertible


def _check_may_upgrade(group: ClassicGroup, group_id: str, limits: GroupLimits) -> None:
    if limits.consumer_migration_policy not in {"bidirectional", "upgrade"}:
        raise _refused(group_id, "online upgrade is disabled")
    if group.protocol_type != CONSUMER_TYPE:
        raise _refused(group_id, "the group does not use the consumer embedded protocol")
    if len(group.members) > limits.consumer_max_size:
        raise _refused(group_id, "the group size exceeds the consumer group maximum size")


def _refused(group_id: str, reason: str) -> Refused:
    message = f"Cannot upgrade classic group {group_id} to consumer group because {reason}."
    return Refused(Fault.GROUP_ID_NOT_FOUND, message)
