"""Consumer group state machines: the classic protocol and the consumer protocol (KIP-848).

# Theory

A machine is a set of plain functions

    (group, command, env) ─▶ Outcome(group, reply)

without clock, store, socket or task. The host (`dray.coordinators`) reads the group, calls the machine,
stores the returned group, and only then sends the reply. This module picks the machine: `classic` or
`consumer` by the type of the group, `migration` where a group changes from one to the other.

Rules that every machine keeps:

1. Values are never changed in place. A command that changes nothing returns the very same group object; the
   host compares with `is` and skips the write.
2. A rejected command changes nothing, save where Kafka's does (a rejected first join still creates the
   group).
3. A command may be applied twice, because the outcome of a commit can be unknown. The second application
   finds the group as the first left it, or is rejected.
4. A join or sync that waits for other members returns a `PendingReply`. After every change of the group, by
   this broker or another, the host calls `try_complete`. Replies are derived from the group alone.
5. Which timers run is derived from the group alone (`timers`). One that fires after the group has moved on
   has no effect.
6. Timers do not depend on another broker's clock: a broker that takes one over starts it in full.

# Phases of a classic group

    Empty ──▶ PreparingRebalance ──▶ CompletingRebalance ──▶ Stable
      ▲           │        ▲                  │                │
      └───────────┘        └──────────────────┴────────────────┘

    phase                waits for                 next phase
    Empty                nothing                   PreparingRebalance: a member joins
    PreparingRebalance   every member to join      CompletingRebalance: all have joined, or INITIAL_DELAY or
                                                     JOIN_PHASE fires; members that did not join are removed
                                                     (static members stay until their session expires)
                                                   Empty: no member is left
    CompletingRebalance  the leader's SyncGroup    Stable: the leader syncs
                                                   PreparingRebalance: a member joins with new metadata,
                                                     leaves or expires, or SYNC_PHASE fires
    Stable               nothing                   PreparingRebalance: as above, and when the leader rejoins

Replies by phase (unknown: UNKNOWN_MEMBER_ID):

    command             Empty    PreparingRebalance      CompletingRebalance      Stable
    join, new member    pending  pending                 new rebalance, pending   new rebalance, pending
    join, same metadata -        pending                 current generation       current generation;
                                                                                  leader: new rebalance
    sync                unknown  REBALANCE_IN_PROGRESS   pending; leader: Stable  assignment
    heartbeat           unknown  REBALANCE_IN_PROGRESS   NONE                     NONE
    commit, member      unknown  accepted                REBALANCE_IN_PROGRESS    accepted
    leave               unknown  removed                 new rebalance            new rebalance

A group that was never joined but has committed offsets is an Empty group without protocol type ("simple").

# States of a consumer group

Nothing waits: each heartbeat is answered at once and moves one member one step. The state of the group is
derived:

    state         condition
    Empty         no members (a static member that left temporarily is still one)
    Assigning     the group epoch is ahead of the target epoch: a new target assignment is due
    Reconciling   the target is up to date, some member has not reached it
    Stable        every member has reached the target epoch and owns its target

    member state            next state
    STABLE                  UNREVOKED_PARTITIONS: the new target takes partitions away
                            UNRELEASED_PARTITIONS: nothing to revoke, others still own some of its target
                            STABLE: it gets its whole target at once
    UNREVOKED_PARTITIONS    as from STABLE, once the client reports that it has revoked;
                            removed if REVOCATION fires first
    UNRELEASED_PARTITIONS   STABLE: the others have released

# Groups that change protocol

    group                           command                          result
    classic, Empty                  consumer heartbeat (join)        consumer group
    classic, with members           consumer heartbeat (join)        consumer group, its members converted, if
                                                                     the migration policy allows upgrades
    consumer, no members            join                             classic group
    consumer, with members          join of a classic client         the client becomes a classic member of it
    consumer, only classic members  last consumer member leaves or   classic group, if the migration policy
      are left                      is replaced                      allows downgrades
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TypeAlias

from msgspec.structs import replace

from dray.groups import classic, consumer, migration
from dray.groups.classic import ClassicGroup, Phase
from dray.groups.commands import ConsumerHeartbeat, Heartbeat, Join, Leave, OffsetCommitter, Partitions, Sync
from dray.groups.limits import GroupLimits
from dray.groups.results import ConsumerHeartbeatResult, JoinResult, Outcome, PendingReply, SyncResult
from dray.groups.stored import Group, Tombstone
from dray.groups.timers import Timer, TimerSpec
from dray.groups.types import CommittedOffset, GroupError, TopicPartition, TopicsImage

MaybeGroup: TypeAlias = Group | None


@dataclass(frozen=True, slots=True)
class Env:
    """Inputs other than the group and the command."""

    limits: GroupLimits
    topics: TopicsImage
    now_ms: int


def join(group: MaybeGroup, command: Join, env: Env) -> Outcome[MaybeGroup, JoinResult | PendingReply]:
    limits, now_ms = env.limits, env.now_ms
    if group is None or isinstance(group, ClassicGroup):
        return classic.join(group, command, limits, now_ms)
    if not consumer.is_empty(group):
        return migration.join(group, command, env.topics, limits, now_ms)
    outcome = classic.join(None, command, limits, now_ms)
    return outcome if outcome.group is not None else Outcome(group, outcome.reply)


def sync(group: MaybeGroup, command: Sync, env: Env) -> Outcome[MaybeGroup, SyncResult | PendingReply]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.sync(group, command, env.limits, env.now_ms)
    return migration.sync(group, command)


def heartbeat(group: MaybeGroup, command: Heartbeat) -> Outcome[MaybeGroup, GroupError]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.heartbeat(group, command)
    return migration.heartbeat(group, command)


def leave(group: MaybeGroup, command: Leave, env: Env) -> Outcome[MaybeGroup, tuple[GroupError, ...]]:
    if group is None or isinstance(group, ClassicGroup):
        return classic.leave(group, command, env.limits, env.now_ms)
    return migration.leave(group, command, env.limits, env.now_ms)


def consumer_heartbeat(
    group: MaybeGroup, command: ConsumerHeartbeat, env: Env
) -> Outcome[MaybeGroup, ConsumerHeartbeatResult]:
    limits, topics, now_ms = env.limits, env.topics, env.now_ms
    if isinstance(group, ClassicGroup):
        return migration.consumer_heartbeat(group, command, topics, limits, now_ms)
    outcome = consumer.heartbeat(group, command, topics, limits, now_ms)
    if group is None or outcome.group is None or outcome.group is group:
        return outcome
    return Outcome(migration.after_departure(group, outcome.group, limits, now_ms), outcome.reply)


def commit(
    group: MaybeGroup, committer: OffsetCommitter, offsets: Mapping[TopicPartition, CommittedOffset], env: Env
) -> Outcome[MaybeGroup, GroupError]:
    """Commit offsets, all or none. A commit to a group that does not exist creates it."""
    error = (
        classic.commit_error(group, committer)
        if group is None or isinstance(group, ClassicGroup)
        else consumer.commit_error(group, committer, _by_topic_id(offsets))
    )
    if error is not GroupError.NONE:
        return Outcome(group, error)
    return Outcome(_committed(group, committer, env.now_ms), error, offsets)


def _by_topic_id(offsets: Mapping[TopicPartition, CommittedOffset]) -> Partitions:
    partitions: dict[bytes, list[int]] = {}
    for (_, partition), offset in offsets.items():
        partitions.setdefault(offset.topic_id, []).append(partition)
    return {topic_id: tuple(numbers) for topic_id, numbers in partitions.items()}


def _committed(group: MaybeGroup, committer: OffsetCommitter, now_ms: int) -> Group:
    if group is None:
        return classic.new_group(now_ms)
    if is_empty(group):
        # A new version of an equal group, so that an expiry that is about to delete the group, because it has
        # neither members nor offsets, fails its check.
        return replace(group)
    if isinstance(group, ClassicGroup):
        return classic.after_commit(group, committer)
    return consumer.after_commit(group, committer)


def fetch_error(group: MaybeGroup, committer: OffsetCommitter) -> GroupError:
    """Return the error of a fetch; `NONE` if allowed. Classic groups let every client fetch."""
    if group is None or isinstance(group, ClassicGroup):
        return GroupError.NONE
    return consumer.fetch_error(group, committer)


def try_complete(group: MaybeGroup, pending: PendingReply) -> JoinResult | SyncResult | None:
    """Return the reply to a pending join or sync, or None if it must keep waiting."""
    if group is None or isinstance(group, ClassicGroup):
        return classic.try_complete(group, pending)
    return migration.try_complete(group, pending)


def timers(group: Group, limits: GroupLimits) -> Iterable[TimerSpec]:
    """Return all timers that have to run for the group."""
    if isinstance(group, ClassicGroup):
        return classic.timers(group, limits)
    return consumer.timers(group, limits)


def fire(group: Group, timer: Timer, limits: GroupLimits, now_ms: int) -> Group:
    """Return the group after a timer has fired; the very same group if the timer is stale."""
    if isinstance(group, ClassicGroup):
        return classic.fire(group, timer, limits, now_ms)
    return migration.after_departure(group, consumer.fire(group, timer, limits, now_ms), limits, now_ms)


def take_over_members(group: Group, alive: Set[int], broker: int) -> Group:
    """Attach the members of brokers that died to `broker`, each with a new session."""
    if isinstance(group, ClassicGroup):
        return classic.take_over_members(group, alive, broker)
    return consumer.take_over_members(group, alive, broker)


def is_empty(group: Group) -> bool:
    return classic.is_empty(group) if isinstance(group, ClassicGroup) else consumer.is_empty(group)


def delete_error(group: MaybeGroup) -> GroupError:
    """Return the error of a deletion; `NONE` if allowed."""
    if group is None:
        return GroupError.GROUP_ID_NOT_FOUND
    return classic.delete_error(group) if isinstance(group, ClassicGroup) else consumer.delete_error(group)


def delete(group: MaybeGroup) -> Outcome[Group | Tombstone | None, GroupError]:
    """Delete a group without members."""
    error = delete_error(group)
    return Outcome(Tombstone() if error is GroupError.NONE else group, error)


def delete_offsets(
    group: MaybeGroup, partitions: Sequence[TopicPartition]
) -> Outcome[MaybeGroup, tuple[GroupError, frozenset[str]]]:
    """Delete offsets. The reply names the topics that the group subscribes to, whose offsets stay."""
    if group is None:
        return Outcome(None, (GroupError.GROUP_ID_NOT_FOUND, frozenset()))
    error = classic.offset_delete_error(group) if isinstance(group, ClassicGroup) else GroupError.NONE
    if error is not GroupError.NONE:
        return Outcome(group, (error, frozenset()))
    kept = frozenset(topic for topic in {topic for topic, _ in partitions} if is_subscribed(group, topic))
    deleted = dict.fromkeys((one for one in partitions if one[0] not in kept), None)
    return Outcome(group, (GroupError.NONE, kept), deleted)


def is_subscribed(group: Group, topic: str) -> bool:
    if isinstance(group, ClassicGroup):
        return not classic.is_empty(group) and classic.is_subscribed(group, topic)
    return consumer.is_subscribed(group, topic)


def state_name(group: Group) -> str:
    return classic.state_name(group) if isinstance(group, ClassicGroup) else consumer.state_name(group)


def kind(group: Group) -> str:
    """Return the group type as ListGroups returns it."""
    return "classic" if isinstance(group, ClassicGroup) else "consumer"


def protocol_type(group: Group) -> str:
    return (group.protocol_type or "") if isinstance(group, ClassicGroup) else "consumer"


def has_expired(group: Group, topic: str, offset: CommittedOffset, limits: GroupLimits, now_ms: int) -> bool:
    """Return whether a committed offset may be removed.

    It is kept as long as members subscribe to the topic, or may do so because their topics are not known.
    Then its retention begins: with the last commit, or when the last member left. A retention time that the
    client sent with the commit replaces the configured one.
    """
    since_ms = _unused_since(group, topic, offset)
    if since_ms is None:
        return False
    if offset.expires_at_ms is not None:
        return now_ms >= offset.expires_at_ms
    return now_ms - since_ms >= limits.offsets_retention_ms


def _unused_since(group: Group, topic: str, offset: CommittedOffset) -> int | None:
    """Return when the retention of an offset began; None if members may still read on from it."""
    if not isinstance(group, ClassicGroup):
        return None if consumer.is_subscribed(group, topic) else offset.committed_at_ms
    if classic.is_simple(group):
        return offset.committed_at_ms
    if classic.is_empty(group):
        return max(offset.committed_at_ms, group.changed_at_ms)
    topics = classic.subscribed_topics(group)
    may_read = group.phase is not Phase.STABLE or topics is None or topic in topics
    return None if may_read else offset.committed_at_ms
