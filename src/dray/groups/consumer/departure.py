"""How members go: by their own word, for good or for now, or because someone else says so."""

from collections.abc import Collection

from msgspec.structs import replace

from dray.groups.asks import ConsumerBeat
from dray.groups.consumer.checks import Refused
from dray.groups.consumer.epochs import bumped
from dray.groups.consumer.members import found
from dray.groups.consumer.state import LEAVES_FOR_NOW, ConsumerGroup, ConsumerMember
from dray.groups.consumer.subscription import unsubscribed
from dray.groups.faults import Fault
from dray.groups.outcome import Outcome
from dray.groups.replies import ConsumerBeaten


def left(
    group: ConsumerGroup | None, ask: ConsumerBeat, now_ms: int
) -> Outcome[ConsumerGroup | None, ConsumerBeaten]:
    """Let a member go that says so; raises `Refused`."""
    if group is None:
        raise Refused(Fault.GROUP_ID_NOT_FOUND, f"Group {ask.group_id} not found.")
    member = found(group, ask)
    if ask.epoch != LEAVES_FOR_NOW:
        return Outcome(removed(group, {ask.member_id}, now_ms), _farewell(ask))
    away = _away(member, ask.broker)
    if away == member:
        return Outcome(group, _farewell(ask))
    return Outcome(replace(group, members=group.members | {ask.member_id: away}), _farewell(ask))


def _farewell(ask: ConsumerBeat) -> ConsumerBeaten:
    return ConsumerBeaten(Fault.NONE, member_id=ask.member_id, epoch=ask.epoch)


def _away(member: ConsumerMember, broker: int) -> ConsumerMember:
    """The member keeps what it has for whoever comes back, as if it had it from the beginning."""
    assigned = {topic_id: dict.fromkeys(held, 0) for topic_id, held in member.assigned.items()}
    return replace(member, epoch=LEAVES_FOR_NOW, assigned=assigned, revoking={}, broker=broker)


def removed(group: ConsumerGroup, member_ids: Collection[str], now_ms: int) -> ConsumerGroup:
    """The group without these members; what they had is free. The very same group if none is in it."""
    members = {id_: member for id_, member in group.members.items() if id_ not in member_ids}
    if len(members) == len(group.members):
        return group
    targets = {id_: target for id_, target in group.targets.items() if id_ in members}
    return bumped(unsubscribed(replace(group, members=members, targets=targets)), now_ms)
