"""A group of whichever protocol: which machine an ask is for.

A group without members may change over to the other protocol with the next one who joins; with members, only
as `migration` allows.
"""

from collections.abc import Iterable, Set
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from dray.groups import classic, consumer, migration
from dray.groups.asks import Beat, Committer, ConsumerBeat, Join, Leave, Partitions, Sync
from dray.groups.classic import ClassicGroup
from dray.groups.faults import Fault
from dray.groups.group import Group
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Outcome, Parked, Timer, TimerAsked
from dray.groups.replies import ConsumerBeaten, Joined, Synced
from dray.groups.topics import TopicImage

MaybeGroup: TypeAlias = Group | None


@dataclass(frozen=True, slots=True)
class Around:
    """What a machine has to know besides the group and the ask."""

    limits: GroupLimits
    topics: TopicImage
    now_ms: int


def join(group: MaybeGroup, ask: Join, around: Around) -> Outcome[MaybeGroup, Joined | Parked]:
    limits, now_ms = around.limits, around.now_ms
    if group is None or isinstance(group, ClassicGroup):
        return classic.join(group, ask, limits, now_ms)
    if not consumer.is_empty(group):
        return migration.join(group, ask, around.topics, limits, now_ms)
    outcome = classic.join(None, ask, limits, now_ms)
    return outcome if outcome.group is not None else Outcome(group, outcome.reply)


def sync(group: MaybeGroup, ask: Sync, around: Around) -> Outcome[MaybeGroup, Synced | Parked]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.sync(group, ask, around.limits, around.now_ms)
    return migration.sync(group, ask)


def beat(group: MaybeGroup, ask: Beat) -> Outcome[MaybeGroup, Fault]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.beat(group, ask)
    return migration.beat(group, ask)


def leave(group: MaybeGroup, ask: Leave, around: Around) -> Outcome[MaybeGroup, tuple[Fault, ...]]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.leave(group, ask, around.limits, around.now_ms)
    return migration.leave(group, ask, around.limits, around.now_ms)


def consumer_beat(
    group: MaybeGroup, ask: ConsumerBeat, around: Around
) -> Outcome[MaybeGroup, ConsumerBeaten]:
    limits, topics, now_ms = around.limits, around.topics, around.now_ms
    if isinstance(group, ClassicGroup):
        return migration.heartbeat_to_classic(group, ask, topics, limits, now_ms)
    outcome = consumer.heartbeat(group, ask, topics, limits, now_ms)
    if group is None or outcome.group is None or outcome.group is group:
        return outcome
    return Outcome(migration.after_departure(group, outcome.group, limits, now_ms), outcome.reply)


def commit(
    group: MaybeGroup, committer: Committer, partitions: Partitions, around: Around
) -> Outcome[MaybeGroup, Fault]:
    """Let somebody commit offsets, or not. Who commits to no group makes one."""
    fault = (
        classic.commit_fault(group, committer)
        if group is None or isinstance(group, ClassicGroup)
        else consumer.commit_fault(group, committer, partitions)
    )
    if fault is not Fault.NONE:
        return Outcome(group, fault)
    return Outcome(_committed(group, committer, around.now_ms), fault)


def _committed(group: MaybeGroup, committer: Committer, now_ms: int) -> Group:
    if group is None:
        return classic.simple(now_ms)
    if is_empty(group):
        # Written anew though it is the same: who is about to remove a group without members and offsets
        # must notice.
        return replace(group)
    if isinstance(group, ClassicGroup):
        return classic.commits(group, committer)
    return consumer.commits(group, committer)


def fetch_fault(group: MaybeGroup, committer: Committer) -> Fault:
    """Why somebody may not fetch offsets. Groups of the classic protocol let everybody."""
    if group is None or isinstance(group, ClassicGroup):
        return Fault.NONE
    return consumer.fetch_fault(group, committer)


def settle(group: MaybeGroup, parked: Parked) -> Joined | Synced | None:
    if group is None or isinstance(group, ClassicGroup):
        return classic.settle(group, parked)
    return migration.settle(group, parked)


def timers(group: Group, limits: GroupLimits) -> Iterable[TimerAsked]:
    if isinstance(group, ClassicGroup):
        return classic.timers(group, limits)
    return consumer.timers(group, limits)


def fire(group: Group, timer: Timer, limits: GroupLimits, now_ms: int) -> Group:
    if isinstance(group, ClassicGroup):
        return classic.fire(group, timer, limits, now_ms)
    return migration.after_departure(group, consumer.fire(group, timer, limits, now_ms), limits, now_ms)


def adopt(group: Group, alive: Set[int], broker: int) -> Group:
    if isinstance(group, ClassicGroup):
        return classic.adopt(group, alive, broker)
    return consumer.adopt(group, alive, broker)


def is_empty(group: Group) -> bool:
    return classic.is_empty(group) if isinstance(group, ClassicGroup) else consumer.is_empty(group)


def delete_fault(group: MaybeGroup) -> Fault:
    """Why the group may not be deleted."""
    if group is None:
        return Fault.GROUP_ID_NOT_FOUND
    return classic.delete_fault(group) if isinstance(group, ClassicGroup) else consumer.delete_fault(group)


def offset_delete_fault(group: MaybeGroup) -> Fault:
    """Why no offset of the group may be deleted."""
    if group is None:
        return Fault.GROUP_ID_NOT_FOUND
    return classic.offset_delete_fault(group) if isinstance(group, ClassicGroup) else Fault.NONE


def is_subscribed(group: Group, topic: str) -> bool:
    if isinstance(group, ClassicGroup):
        return not classic.is_empty(group) and classic.is_subscribed(group, topic)
    return consumer.is_subscribed(group, topic)


def state_name(group: Group) -> str:
    return classic.state_name(group) if isinstance(group, ClassicGroup) else consumer.state_name(group)


def kind(group: Group) -> str:
    """Which protocol the group is of, as ListGroups tells it."""
    return "classic" if isinstance(group, ClassicGroup) else "consumer"


def protocol_type(group: Group) -> str:
    return (group.protocol_type or "") if isinstance(group, ClassicGroup) else "consumer"
