"""A heartbeat of the consumer protocol: the one request that members join, stay and leave with.

    who is it? ─▶ what does it say? ─▶ is a new target due? ─▶ one step towards it ─▶ answer

A heartbeat with nothing new returns the very same group. It looks at one member and a few numbers, whatever
the size of the group. Topics that came, grew or went are not its business: see `sight`.

Applying the same heartbeat twice is harmless: the second finds the member as the first has left it, or is
refused. Nobody here does so: when it is not known what became of a commit the client is told that it failed,
and asks again with all it knows, like one whose answer was lost.
"""

from typing import TypeAlias

from dray.groups.asks import ConsumerBeat
from dray.groups.consumer import checks, members
from dray.groups.consumer.departure import left
from dray.groups.consumer.epochs import bumped
from dray.groups.consumer.held import partitions_in
from dray.groups.consumer.patterns import BadPattern
from dray.groups.consumer.reconcile import reconciled
from dray.groups.consumer.state import JOINS, ConsumerGroup, ConsumerMember
from dray.groups.consumer.subscription import resubscribed
from dray.groups.consumer.targets import retargeted
from dray.groups.faults import Fault
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome
from dray.groups.replies import ConsumerBeaten
from dray.groups.topics import TopicImage

Beaten: TypeAlias = Outcome[ConsumerGroup | None, ConsumerBeaten]


def heartbeat(
    group: ConsumerGroup | None, ask: ConsumerBeat, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> Beaten:
    """Apply a heartbeat. Whoever is refused changes nothing."""
    try:
        checks.check_request(ask)
        if ask.epoch < JOINS:
            return left(group, ask, now_ms)
        return _stayed(group, ask, topics, limits, now_ms)
    except checks.Refused as refused:
        return Outcome(group, ConsumerBeaten(refused.fault, refused.message))


def _stayed(
    group: ConsumerGroup | None, ask: ConsumerBeat, topics: TopicImage, limits: GroupLimits, now_ms: int
) -> Beaten:
    group = _opened(group, ask, now_ms)
    checks.check_room(group, ask, limits)
    member_id = ask.member_id or ask.new_id
    if ask.epoch == JOINS:
        group, before = members.joined(group, ask, member_id)
    else:
        before = members.found(group, ask)
        checks.check_epoch(before, ask)
    member = members.updated(before, ask)
    changed = member is not before and (member.names, member.regex) != (before.names, before.regex)
    group = members.kept(group, member_id, member)
    if changed:
        group = bumped(_resubscribed(group, topics, member.regex), now_ms)
    group = retargeted(group, limits, now_ms)
    member = reconciled(group, member_id, member, ask.owned, subscription_changed=changed)
    return Outcome(members.kept(group, member_id, member), _reply(ask, member_id, before, member, limits))


def _opened(group: ConsumerGroup | None, ask: ConsumerBeat, now_ms: int) -> ConsumerGroup:
    if group is not None:
        return group
    if ask.epoch != JOINS:
        raise checks.Refused(Fault.GROUP_ID_NOT_FOUND, f"Consumer group {ask.group_id} not found.")
    return ConsumerGroup(changed_at_ms=now_ms)


def _resubscribed(group: ConsumerGroup, topics: TopicImage, regex: str) -> ConsumerGroup:
    try:
        return resubscribed(group, topics)
    except BadPattern as bad:
        raise checks.Refused(
            Fault.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {bad}.",
        ) from bad


def _reply(
    ask: ConsumerBeat, member_id: str, before: ConsumerMember, member: ConsumerMember, limits: GroupLimits
) -> ConsumerBeaten:
    is_news = member.assigned is not before.assigned and member.assigned != before.assigned
    must_tell = is_news or ask.epoch == JOINS or _says_all(ask)
    return ConsumerBeaten(
        Fault.NONE,
        None,
        member_id,
        member.epoch,
        limits.consumer_heartbeat_interval_ms,
        partitions_in(member.assigned) if must_tell else None,
    )


def _says_all(ask: ConsumerBeat) -> bool:
    """Whether the client says all it can, as one that does not know what became of its last heartbeat."""
    return (
        ask.owned is not None
        and ask.rebalance_timeout_ms is not None
        and (ask.names is not None or ask.regex is not None)
    )
