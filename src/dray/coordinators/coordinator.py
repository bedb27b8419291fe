"""Consumer groups on this broker: any broker serves any group.

A group has a desk here as soon as it exists. Which broker runs the group's own timers, and takes over the
members of brokers that died, is agreed on without a word: the one that scores highest among those that are
registered. Two that disagree for a moment do no harm, since every change is checked against the store.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from dray.cluster.brokers import LiveBrokers
from dray.cluster.zones import preferred
from dray.coordinators.census import Census
from dray.coordinators.decision import Decision, Step
from dray.coordinators.desk import Desk, GroupsClosed, Office
from dray.coordinators.group_store import GroupStore, Known, StoredOffset, decoded
from dray.coordinators.keys import (
    GROUPS_PREFIX,
    group_domain,
    group_domains,
    group_of,
    groups_range,
    offset_key,
)
from dray.coordinators.matching_ahead import TooSlow, match_ahead
from dray.coordinators.metrics import GroupMetrics, unseen
from dray.groups import consumer, machine
from dray.groups.asks import Beat, Committer, ConsumerBeat, Join, Leave, Sync
from dray.groups.classic import ClassicGroup
from dray.groups.consumer import ConsumerGroup
from dray.groups.faults import Fault
from dray.groups.group import Doomed, Group
from dray.groups.limits import GroupLimits
from dray.groups.machine import Around
from dray.groups.outcome import Outcome, Parked
from dray.groups.replies import ConsumerBeaten, Joined, Synced
from dray.groups.stored import CommittedOffset, CorruptGroup, encode_offset
from dray.groups.topics import TopicImage
from dray.meta.following import follow
from dray.meta.port import ChangeBatch, Delete, Domain, Entry, MetaError, MetaStore, Put
from dray.observe import get_logger
from dray.runtime import Clock, Tasks, Timers

R = TypeVar("R")
_TICK_SECONDS = 0.5
_log = get_logger("groups")
_REFRESHES = (Fault.NONE, Fault.REBALANCE_IN_PROGRESS)


@dataclass(frozen=True, slots=True)
class CoordinatorParts:
    """What groups are made of."""

    broker_id: int
    meta: MetaStore
    domains: int
    brokers: LiveBrokers
    topics: TopicImage
    limits_of: Callable[[str], GroupLimits]
    clock: Clock
    tasks: Tasks
    metrics: GroupMetrics = field(default_factory=unseen)


@dataclass(frozen=True, slots=True)
class OffsetGiven:
    """An offset that is to be committed."""

    topic: str
    partition: int
    offset: CommittedOffset


class GroupsAway(Exception):
    """The metadata store is out of reach, and with it the groups; nothing is known to have changed."""


class GroupCoordinator:
    """Serves all groups."""

    def __init__(self, parts: CoordinatorParts) -> None:
        self._parts = parts
        self.store = GroupStore(parts.meta, parts.domains)
        self._office = Office(
            parts.broker_id,
            self.store,
            parts.limits_of,
            self.cares_for,
            parts.clock,
            parts.tasks,
            Timers(parts.clock, parts.tasks, name="group-timer"),
            parts.metrics,
            Census(parts.metrics),
        )
        self._desks: dict[str, Desk] = {}
        self._unsure = set(group_domains(parts.domains))
        """Domains whose changes this broker is not told of at the moment."""
        self._following = asyncio.Event()
        self._closed = False
        self._alive: frozenset[int] = frozenset()
        self._caring: dict[str, bool] = {}
        self._sights: dict[str, consumer.Sight] = {}

    async def start(self) -> None:
        """Begin to follow all groups; returns when they have been read."""
        parts = self._parts
        for domain in group_domains(parts.domains):
            following = follow(
                parts.meta,
                domain,
                GROUPS_PREFIX,
                parts.clock,
                take=partial(self._take, domain),
                lost=partial(self._unsure.add, domain),
            )
            parts.tasks.start(following, name="groups")
        await self._following.wait()
        parts.tasks.every(_TICK_SECONDS, self._look_after, name="look-after-groups", clock=parts.clock)

    def close(self) -> None:
        """Send everybody who waits to another broker."""
        self._closed = True
        self._office.timers.stop()
        for desk in self._desks.values():
            desk.close()

    def cares_for(self, group_id: str) -> bool:
        """Whether it falls to this broker to run the group's timers."""
        caring = self._caring.get(group_id)
        if caring is None:
            brokers = self._parts.brokers.all()
            me = self._parts.broker_id
            caring = not brokers or preferred(brokers, group_id.encode()).broker_id == me
            self._caring[group_id] = caring
        return caring

    def looked_after(self) -> list[str]:
        """Return the groups that it falls to this broker to look after."""
        return [desk.group_id for desk in self._desks.values() if self.cares_for(desk.group_id)]

    def limits_of(self, group_id: str) -> GroupLimits:
        return self._parts.limits_of(group_id)

    # Members

    async def join(self, group_id: str, ask: Join) -> Joined:
        def step(group: Group | None, around: Around) -> Outcome[Group | None, Joined | Parked]:
            return machine.join(self._sees_topics(group_id, group, around), ask, around)

        joined: Joined = await self._apply(group_id, step)
        self._called(group_id, joined.member_id, joined.fault)
        return joined

    async def sync(self, group_id: str, ask: Sync) -> Synced:
        synced = await self._apply(group_id, lambda group, around: machine.sync(group, ask, around))
        self._called(group_id, ask.member_id, synced.fault)
        return synced

    async def beat(self, group_id: str, ask: Beat) -> Fault:
        fault = await self._apply(group_id, lambda group, _: machine.beat(group, ask))
        self._called(group_id, ask.member_id, fault)
        return fault

    async def leave(self, group_id: str, ask: Leave) -> tuple[Fault, ...]:
        return await self._apply(group_id, lambda group, around: machine.leave(group, ask, around))

    async def consumer_beat(self, group_id: str, ask: ConsumerBeat) -> ConsumerBeaten:
        def step(group: Group | None, around: Around) -> Outcome[Group | None, ConsumerBeaten]:
            return machine.consumer_beat(self._sees_topics(group_id, group, around), ask, around)

        try:
            await self._match_ahead(group_id, ask)
        except TooSlow as error:
            told = f"SubscribedTopicRegex `{ask.regex}` is refused: {error}."
            return ConsumerBeaten(Fault.INVALID_REGULAR_EXPRESSION, told)
        beaten = await self._apply(group_id, step)
        self._called(group_id, beaten.member_id or ask.member_id, beaten.fault)
        return beaten

    async def _match_ahead(self, group_id: str, ask: ConsumerBeat) -> None:
        desk = self._desks.get(group_id)
        known = desk.group if desk is not None else None
        if ask.regex and not (isinstance(known, ConsumerGroup) and ask.regex in known.regexes):
            await match_ahead(ask.regex, self._parts.topics.names(), self._parts.clock)

    # Offsets

    async def commit(self, group_id: str, committer: Committer, offsets: Sequence[OffsetGiven]) -> Fault:
        """Commit offsets, all or none."""
        partitions = _by_topic_id(offsets)
        writes = tuple(
            Put(offset_key(group_id, one.topic, one.partition), encode_offset(one.offset)) for one in offsets
        )

        def step(group: Group | None) -> Decision[Fault]:
            outcome = machine.commit(group, committer, partitions, self._around(group_id))
            accepted = outcome.reply is Fault.NONE
            return Decision(outcome.group, outcome.reply, writes if accepted else ())

        fault = await self._ask(group_id, step)
        if fault is Fault.NONE:
            self._parts.metrics.committed_offsets.inc(len(offsets))
        if (desk := self._desks.get(group_id)) and isinstance(desk.group, ClassicGroup):
            self._called(group_id, committer.member_id, fault)  # the consumer protocol has only heartbeats
        return fault

    async def fetch_fault(self, group_id: str, committer: Committer) -> Fault:
        """Why somebody may not fetch offsets."""
        return machine.fetch_fault(await self.find(group_id), committer)

    async def offsets(self, group_id: str, topic: str | None = None) -> list[StoredOffset]:
        """Return what is committed now, for all topics or for one."""
        try:
            return await self.store.offsets(group_id, topic)
        except MetaError as error:
            raise GroupsAway(str(error)) from error

    async def delete_offsets(
        self, group_id: str, partitions: Sequence[tuple[str, int]]
    ) -> tuple[Fault, frozenset[str]]:
        """Remove offsets; returns also the topics that the group reads, whose offsets stay."""
        topics = {topic for topic, _ in partitions}

        def step(group: Group | None) -> Decision[tuple[Fault, frozenset[str]]]:
            fault = machine.offset_delete_fault(group)
            if group is None or fault is not Fault.NONE:
                return Decision(group, (fault, frozenset()))
            kept = frozenset(topic for topic in topics if machine.is_subscribed(group, topic))
            writes = tuple(Delete(offset_key(group_id, *one)) for one in partitions if one[0] not in kept)
            return Decision(group, (fault, kept), writes)

        return await self._ask(group_id, step)

    # Groups

    async def find(self, group_id: str) -> Group | None:
        """Return the group as it was a moment ago."""
        return await self._ask(group_id, lambda group: Decision(group, group))

    def all(self) -> list[tuple[str, Group]]:
        """Return all groups as they were a moment ago."""
        shown = ((desk.group_id, desk.group) for desk in self._desks.values())
        return sorted((name, group) for name, group in shown if group is not None)

    async def delete(self, group_id: str) -> Fault:
        """Delete a group without members, and its offsets."""

        def step(group: Group | None) -> Decision[Fault]:
            fault = machine.delete_fault(group)
            return Decision(Doomed() if fault is Fault.NONE else group, fault)

        return await self._ask(group_id, step)

    # How it is done

    async def _apply(
        self, group_id: str, step: "Callable[[Group | None, Around], Outcome[Group | None, R | Parked]]"
    ) -> R:
        def decide(group: Group | None) -> Decision[R]:
            outcome = step(group, self._around(group_id))
            return Decision(outcome.group, outcome.reply)

        return await self._ask(group_id, decide)

    async def _ask(self, group_id: str, step: Step[R]) -> R:
        if self._closed:
            raise GroupsClosed("this broker is stopping; another one serves the group")
        try:
            return await self._desk(group_id).ask(step)
        except MetaError as error:
            raise GroupsAway(str(error)) from error

    def _sees_topics(self, group_id: str, group: Group | None, around: Around) -> Group | None:
        """Let a group notice topics that came, grew or went since it was last asked."""
        if not isinstance(group, ConsumerGroup):
            return group
        last = self._sights.get(group_id)
        fresh, sight = consumer.refresh(group, around.topics, around.limits, around.now_ms, last)
        self._sights[group_id] = sight
        return fresh

    def _around(self, group_id: str) -> Around:
        parts = self._parts
        return Around(parts.limits_of(group_id), parts.topics, parts.clock.now_ms())

    def _called(self, group_id: str, member_id: str, fault: Fault) -> None:
        """A member that called and was not turned away has a fresh session."""
        if fault in _REFRESHES and (desk := self._desks.get(group_id)):
            desk.touch(member_id)

    def _desk(self, group_id: str) -> Desk:
        desk = self._desks.get(group_id)
        if desk is None:
            desk = self._desks[group_id] = Desk(group_id, self._office)
        if self._unsure and group_domain(group_id, self._parts.domains) in self._unsure:
            desk.forget()
        return desk

    # Following

    async def _take(self, domain: Domain, batch: ChangeBatch, missed: bool) -> None:
        if missed:
            await self._read_all(domain)
            self._unsure.discard(domain)
            if not self._unsure:
                self._following.set()
            return
        for change in batch.changes:
            self._desk(group_of(change.key)).noticed(change.version)

    async def _read_all(self, domain: Domain) -> None:
        entries = await self._parts.meta.scan(domain, *groups_range())
        there = {group_of(entry.key): entry for entry in entries}
        for group_id, entry in there.items():
            if group_id in self._desks:
                self._desks[group_id].noticed(entry.version)
            else:
                self._meet(group_id, entry)
        for group_id, desk in list(self._desks.items()):
            if group_id not in there and group_domain(group_id, self._parts.domains) == domain:
                desk.forget()

    def _meet(self, group_id: str, entry: Entry) -> None:
        """Open a desk for a group as it was read; one that cannot be read is for whoever asks for it."""
        try:
            group = decoded(entry)
        except CorruptGroup as error:
            _log.error("group_not_readable", error=str(error))
            return
        if isinstance(group, Doomed):
            self._desk(group_id).forget()  # reading it finishes what was begun
            return
        self._desks[group_id] = Desk(group_id, self._office, Known(group, entry.version))
        self._office.census.met(group_id, group)

    async def _look_after(self) -> None:
        alive = frozenset(broker.broker_id for broker in self._parts.brokers.all())
        alive |= {self._parts.broker_id}
        if alive != self._alive:
            self._alive = alive
            self._caring.clear()
        for desk in list(self._desks.values()):
            desk.look_after(alive)
            if desk.idle:
                self._drop(desk.group_id)

    def _drop(self, group_id: str) -> None:
        """A group that is not there needs no desk: whoever asks for one that never was leaves nothing."""
        del self._desks[group_id]
        self._caring.pop(group_id, None)
        self._sights.pop(group_id, None)


def _by_topic_id(offsets: Sequence[OffsetGiven]) -> dict[bytes, tuple[int, ...]]:
    partitions: dict[bytes, list[int]] = {}
    for one in offsets:
        partitions.setdefault(one.offset.topic_id, []).append(one.partition)
    return {topic_id: tuple(numbers) for topic_id, numbers in partitions.items()}
