"""Reconciliation of one member: its next step from what it owns to its target.

    A assigned    R revoking    T target    O partitions the client reports to own (None: not reported)

      keep A∩T ──▶ has the client revoked A - T? ──no──▶ UNREVOKED_PARTITIONS: old epoch, A - T becomes R
                            │ yes
                            ▼
      assign what no other member holds of T - A ──▶ all of it? ──no──▶ UNRELEASED_PARTITIONS: target epoch
                                                        └──yes─▶ STABLE: target epoch

No partition is assigned that another member holds, whether it still uses it or was asked to revoke it. And a
member keeps its partitions until its client reports that it has revoked them. Together these prevent that two
clients use the same partition at once. Topics that a member no longer subscribes to, or that were deleted,
are not part of T.
"""

from collections.abc import Mapping, Set

from msgspec.structs import replace

from dray.groups.commands import Partitions
from dray.groups.consumer.state import (
    ConsumerGroup,
    ConsumerMember,
    MemberState,
    PartitionEpochs,
    drop_empty,
    is_reconciled,
    merge,
    split_by_target,
)
from dray.groups.consumer.subscription import topic_ids_of


def reconciled(
    group: ConsumerGroup,
    member_id: str,
    member: ConsumerMember,
    owned: Partitions | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """Return the member after its next step; the very same one if there is none."""
    waits = member.state is MemberState.UNREVOKED_PARTITIONS and _owns(owned, member.revoking)
    if not waits and not is_reconciled(group, member):
        return _advanced(group, member_id, member, owned)
    return _trimmed(group, member, owned) if subscription_changed else member


def awaits_others(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> bool:
    """Return whether other members still hold partitions of the member's target."""
    missing = {
        topic_id: set(partitions).difference(member.assigned.get(topic_id, ()))
        for topic_id, partitions in group.targets.get(member_id, {}).items()
    }
    return any(_held_by_others(group, member_id, missing).values())


def _owns(owned: Partitions | None, held: PartitionEpochs) -> bool:
    """Return whether the client may still use any of these; without a report, it may."""
    if owned is None:
        return True
    return any(
        not held[topic_id].keys().isdisjoint(owned[topic_id]) for topic_id in held.keys() & owned.keys()
    )


def _trimmed(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None) -> ConsumerMember:
    """Revoke topics that the member no longer subscribes to, before there is a new target."""
    subscribed = topic_ids_of(group, member)
    dropped = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in subscribed}
    if not dropped:
        return member
    kept = {topic_id: held for topic_id, held in member.assigned.items() if topic_id in subscribed}
    revoking = merge(member.revoking, dropped)
    if _owns(owned, revoking):
        return _revoking(group, member, kept, revoking)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _advanced(
    group: ConsumerGroup, member_id: str, member: ConsumerMember, owned: Partitions | None
) -> ConsumerMember:
    target = _target(group, member_id, member)
    kept, revoking = split_by_target(member.assigned, target)
    if revoking and _owns(owned, revoking):
        return _revoking(group, member, kept, revoking)
    missing = {topic_id: wanted.difference(kept.get(topic_id, ())) for topic_id, wanted in target.items()}
    taken = _held_by_others(group, member_id, missing)
    added = {
        topic_id: dict.fromkeys(sorted(wanted - taken.get(topic_id, frozenset())), group.target_epoch)
        for topic_id, wanted in missing.items()
    }
    stepped = replace(
        member,
        epoch=group.target_epoch,
        previous_epoch=member.epoch,
        state=MemberState.UNRELEASED_PARTITIONS if any(taken.values()) else MemberState.STABLE,
        assigned=merge(kept, drop_empty(added)),
        revoking={},
    )
    # A member that keeps waiting for others stays as it was, and may still send its previous epoch.
    return member if replace(stepped, previous_epoch=member.previous_epoch) == member else stepped


def _revoking(
    group: ConsumerGroup, member: ConsumerMember, kept: PartitionEpochs, revoking: PartitionEpochs
) -> ConsumerMember:
    return replace(
        member,
        previous_epoch=member.epoch,
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned=kept,
        revoking=revoking,
        revoking_since=group.epoch,
    )


def _target(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> dict[bytes, frozenset[int]]:
    subscribed = topic_ids_of(group, member)
    target = group.targets.get(member_id, {})
    return {
        topic_id: frozenset(partitions) for topic_id, partitions in target.items() if topic_id in subscribed
    }


def _held_by_others(
    group: ConsumerGroup, member_id: str, wanted: Mapping[bytes, Set[int]]
) -> dict[bytes, Set[int]]:
    """Return the partitions among these that another member owns, or was asked to revoke and has not yet."""
    taken: dict[bytes, Set[int]] = {}
    topic_ids = [topic_id for topic_id, partitions in wanted.items() if partitions]
    others = (member for id_, member in group.members.items() if id_ != member_id) if topic_ids else ()
    for other in others:
        for held in (other.assigned, other.revoking):
            for topic_id in topic_ids:
                if topic_id in held:
                    taken[topic_id] = taken.get(topic_id, frozenset()) | (
                        wanted[topic_id] & held[topic_id].keys()
                    )
    return taken
