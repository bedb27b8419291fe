"""One member's next step from what it has to what it is to have.

    A assigned    R revoking    T target    O what the client says that it owns (None: it does not say)

      stay with A∩T ──▶ has the client given up A - T? ──no──▶ UNREVOKED: the old epoch, and A - T becomes R
                                   │ yes
                                   ▼
      take from T - A what no other member holds ──▶ all of it? ──no──▶ UNRELEASED: the target epoch
                                                       └──yes─▶ STABLE: the target epoch

No partition is taken that another member holds, whether it still uses it or was told to give it up. That, and
that a member keeps its own until the client has said that it gave them up, is why no two clients use the same
partition at once. Topics that a member is no longer subscribed to, or that are no more, count as not in T.
"""

from collections.abc import Mapping, Set

from msgspec.structs import replace

from dray.groups.asks import Partitions
from dray.groups.consumer.held import filled, merged, parted
from dray.groups.consumer.state import ConsumerGroup, ConsumerMember, Held, Progress, is_settled
from dray.groups.consumer.subscription import topic_ids_of


def reconciled(
    group: ConsumerGroup,
    member_id: str,
    member: ConsumerMember,
    owned: Partitions | None,
    *,
    subscription_changed: bool,
) -> ConsumerMember:
    """The member after its next step; the very same one if it cannot take any."""
    waits = member.progress is Progress.UNREVOKED and _owns(owned, member.revoking)
    if not waits and not is_settled(group, member):
        return _advanced(group, member_id, member, owned)
    return _trimmed(group, member, owned) if subscription_changed else member


def is_kept_waiting(group: ConsumerGroup, member_id: str, member: ConsumerMember) -> bool:
    """Whether others still hold a partition that the member is to have."""
    missing = {
        topic_id: set(partitions).difference(member.assigned.get(topic_id, ()))
        for topic_id, partitions in group.targets.get(member_id, {}).items()
    }
    return any(_held_by_others(group, member_id, missing).values())


def _owns(owned: Partitions | None, held: Held) -> bool:
    """Whether the client may still use any of these; if it does not say, it may."""
    if owned is None:
        return True
    return any(
        not held[topic_id].keys().isdisjoint(owned[topic_id]) for topic_id in held.keys() & owned.keys()
    )


def _trimmed(group: ConsumerGroup, member: ConsumerMember, owned: Partitions | None) -> ConsumerMember:
    """Take away what the member is no longer subscribed to, before there is a new target."""
    subscribed = topic_ids_of(group, member)
    dropped = {topic_id: held for topic_id, held in member.assigned.items() if topic_id not in subscribed}
    if not dropped:
        return member
    kept = {topic_id: held for topic_id, held in member.assigned.items() if topic_id in subscribed}
    revoking = merged(member.revoking, dropped)
    if _owns(owned, revoking):
        return _told_to_revoke(group, member, kept, revoking)
    return replace(member, previous_epoch=member.epoch, assigned=kept)


def _advanced(
    group: ConsumerGroup, member_id: str, member: ConsumerMember, owned: Partitions | None
) -> ConsumerMember:
    target = _target(group, member_id, member)
    kept, revoking = parted(member.assigned, target)
    if revoking and _owns(owned, revoking):
        return _told_to_revoke(group, member, kept, revoking)
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
        progress=Progress.UNRELEASED if any(taken.values()) else Progress.STABLE,
        assigned=merged(kept, filled(added)),
        revoking={},
    )
    # One who goes on waiting for others stays as it was, and may still say its previous epoch.
    return member if replace(stepped, previous_epoch=member.previous_epoch) == member else stepped


def _told_to_revoke(
    group: ConsumerGroup, member: ConsumerMember, kept: Held, revoking: Held
) -> ConsumerMember:
    return replace(
        member,
        previous_epoch=member.epoch,
        progress=Progress.UNREVOKED,
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
    """Which of these partitions any other member has, or was told to give up and has not yet."""
    taken: dict[bytes, Set[int]] = {}
    looked_for = [topic_id for topic_id, partitions in wanted.items() if partitions]
    others = (member for id_, member in group.members.items() if id_ != member_id) if looked_for else ()
    for other in others:
        for held in (other.assigned, other.revoking):
            for topic_id in looked_for:
                if topic_id in held:
                    taken[topic_id] = taken.get(topic_id, frozenset()) | (
                        wanted[topic_id] & held[topic_id].keys()
                    )
    return taken
