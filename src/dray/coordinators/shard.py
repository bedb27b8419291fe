"""One group on this broker: applies its commands in order.

    command ─▶ queue ─▶ applied to the known group ─▶ one commit ─▶ reply

Commands that arrive while a commit is under way are batched into the next one, so that many members that join
at once cost few commits. If the commit conflicts with another broker's, the group is read and the same
commands are applied again.

A command that changes nothing, such as an ordinary heartbeat, is answered at once from the known group,
without the queue. The known group may be slightly stale then, since the watch reports changes of other
brokers with a delay; nothing important is decided on it, because every change is checked against the store.

Pending joins and syncs are kept here with their callers. After each change of the group, by this broker or
another, the machine is asked which of them can be completed.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from dray.coordinators.context import CoordinatorContext
from dray.coordinators.group_store import VersionedGroup
from dray.coordinators.group_timers import GroupTimers
from dray.coordinators.pending_replies import PendingReplies
from dray.groups import consumer, machine
from dray.groups.consumer import ConsumerGroup
from dray.groups.limits import GroupLimits
from dray.groups.machine import Env
from dray.groups.results import Outcome, PendingReply
from dray.groups.stored import Group, Tombstone
from dray.groups.timers import Timer
from dray.groups.types import CommittedOffset, TopicPartition, TopicsImage
from dray.meta.port import MetaError, Version
from dray.observe import get_logger

R = TypeVar("R")
Command: TypeAlias = Callable[[Group | None, Env], Outcome[Group | Tombstone | None, R | PendingReply]]
"""A call of a machine that lacks only the group. It is pure: it is called again when a commit conflicts."""
_BATCH_MAX = 64
"""The most commands in one commit."""
_RETRY_S = 1.0
_log = get_logger("groups")


class GroupsClosed(Exception):
    """This broker no longer serves groups; another one does."""


class _Queued(NamedTuple):
    """A command that waits for its commit."""

    command: Command[Any]
    topics: TopicsImage | None
    reply: "asyncio.Future[Any]"


class GroupShard:
    """Serves one group."""

    def __init__(
        self, group_id: str, context: CoordinatorContext, known: VersionedGroup | None = None
    ) -> None:
        self.group_id = group_id
        self._context = context
        self._known = known
        self._group = None if known is None else known.group
        self._changed_version: Version | None = None
        """The last version that the watch reported since the store was last read."""
        self._queue: list[_Queued] = []
        self._in_flight: list[_Queued] = []
        self._writing = False
        self._requests: Counter[str] = Counter()
        """Requests of members that are being applied, by member id."""
        self._pending = PendingReplies()
        self._worker: asyncio.Task[None] | None = None
        self._timers = GroupTimers(group_id, context.timers, self._fire)
        self._last_refresh: consumer.LastRefresh | None = None
        self._maintained: tuple[frozenset[int], bool, VersionedGroup | None, GroupLimits] | None = None
        self._closed = False
        self._on_group_changed()

    @property
    def group(self) -> Group | None:
        """The group, possibly slightly stale; None also if it has never been read."""
        return self._group

    @property
    def idle(self) -> bool:
        """Whether the group is known not to exist, and nothing is queued or pending."""
        busy = self._queue or self._pending or self._worker is not None
        return self._known is not None and self._known.group is None and not busy

    async def apply(
        self, command: Command[R], topics: TopicsImage | None = None, *, member_id: str | None = None
    ) -> R:
        """Apply a command; returns its reply once it is durable and, for a join or sync, completed.

        A consumer group first catches up with `topics`, which the command then uses too. Until the command of
        a member is durable, no timer of that member fires.
        """
        outcome = self._run_unchanged(command, topics)
        reply: R | PendingReply
        if outcome is None:
            with self._requesting(member_id):
                reply = await self._enqueue(command, topics)
        else:
            reply = outcome.reply
        if isinstance(reply, PendingReply):
            return cast("R", await self._completed(reply))
        return reply

    @contextmanager
    def _requesting(self, member_id: str | None) -> Iterator[None]:
        """Count the requests of a member that are being applied."""
        if not member_id:
            yield
            return
        self._requests[member_id] += 1
        try:
            yield
        finally:
            self._requests[member_id] -= 1
            if not self._requests[member_id]:
                del self._requests[member_id]

    def restart_session(self, member_id: str) -> None:
        """Restart the session of a member that sent a request."""
        self._timers.restart_session(member_id)

    def mark_changed(self, version: Version) -> None:
        """Handle a report of the watch that the group was changed, by this broker or another."""
        if self._known is not None and self._known.version == version:
            return
        self._changed_version = version
        self.invalidate()

    def invalidate(self) -> None:
        """Drop the known group and read it again."""
        if self._worker is None:
            self._known = None
            self._wake()

    def maintain(self, alive: frozenset[int]) -> None:
        """Run the timers that belong on this broker, and take over members of brokers that died."""
        owned = self._context.owns(self.group_id)
        seen = (alive, owned, self._known, self._context.limits_of(self.group_id))
        if self._maintained == seen:
            return
        self._maintained = seen
        if self._known is not None:
            self._context.gauges.update(self.group_id, self._known.group, owned=owned)
        self._update_timers()
        group, me = self._group, self._context.broker_id
        if group is not None and owned and machine.take_over_members(group, alive, me) is not group:
            self._enqueue(lambda now, _: Outcome(now and machine.take_over_members(now, alive, me), None))

    def close(self) -> None:
        """Fail every pending reply and command with `GroupsClosed`, and stop the timers.

        Commands whose commit is under way still get its result; those that would be pending then fail too.
        """
        self._closed = True
        closed = GroupsClosed("stopping")
        self._pending.fail(closed)
        _fail(self._queue, closed)
        self._queue.clear()
        if not self._writing:
            _fail(self._in_flight, closed)
            self._in_flight = []
        self._timers.update(())

    # Applying commands

    def _run_unchanged(
        self, command: Command[R], topics: TopicsImage | None
    ) -> Outcome[Group | Tombstone | None, R | PendingReply] | None:
        """Return the outcome of a command that changes nothing; None if it has to go through the queue."""
        if self._known is None or self._queue or self._worker is not None:
            return None
        outcome = self._run(command, self._known.group, topics)
        unchanged = outcome.group is self._known.group and not outcome.offsets
        return outcome if unchanged else None

    def _run(
        self, command: Command[R], group: Group | None, topics: TopicsImage | None
    ) -> Outcome[Group | Tombstone | None, R | PendingReply]:
        env = self._context.env(self.group_id)
        if topics is not None:
            env = replace(env, topics=topics)
            if isinstance(group, ConsumerGroup):
                group, self._last_refresh = consumer.refresh(
                    group, topics, env.limits, env.now_ms, self._last_refresh
                )
        return command(group, env)

    def _enqueue(self, command: Command[Any], topics: TopicsImage | None = None) -> "asyncio.Future[Any]":
        reply = asyncio.get_running_loop().create_future()
        reply.add_done_callback(_retrieve_exception)  # the caller may have been cancelled
        self._queue.append(_Queued(command, topics, reply))
        self._wake()
        return reply

    def _wake(self) -> None:
        if self._worker is None:
            self._worker = self._context.tasks.start(self._work(), name="group")
            self._worker.add_done_callback(self._worker_ended)

    async def _work(self) -> None:
        while self._queue or self._known is None:
            self._in_flight, self._queue = self._queue[:_BATCH_MAX], self._queue[_BATCH_MAX:]
            try:
                await self._commit_batch()
            except MetaError as error:
                _fail(self._in_flight, error)
                self._known = None  # the outcome of the commit is unknown
                if not self._queue:
                    await self._context.clock.sleep(_RETRY_S)
            self._in_flight = []

    def _worker_ended(self, task: "asyncio.Task[None]") -> None:
        """Fail the callers of a worker that failed (the supervisor has logged why) or was cancelled."""
        self._worker = None
        if task.cancelled():
            self.close()
        elif error := task.exception():
            _fail(self._in_flight, error)
        elif self._is_stale():
            self.invalidate()
        if self._queue:
            self._wake()

    def _is_stale(self) -> bool:
        """Return whether the group was changed after it was read."""
        return self._known is not None and self._changed_version not in (None, self._known.version)

    async def _commit_batch(self) -> None:
        known = await self._read() if self._known is None or self._is_stale() else self._known
        outcome = self._run_batch(known.group)
        while outcome.group is not known.group or outcome.offsets:
            self._changed_version = None
            stored = await self._write(known, outcome)
            if stored is not None:
                await self._update(stored)
                break
            self._context.metrics.conflicts.inc()
            known = await self._read()
            outcome = self._run_batch(known.group)
        self._queue[:0] = self._in_flight[len(outcome.reply) :]
        for queued, reply in zip(self._in_flight, outcome.reply, strict=False):
            if not queued.reply.done():
                queued.reply.set_result(reply)

    def _run_batch(self, group: Group | None) -> Outcome[Group | Tombstone | None, Sequence[Any]]:
        """Apply the commands in flight, one after the other, up to one that ends the group.

        Those after it have no reply yet: they are for the group that is created next.
        """
        offsets: dict[TopicPartition, CommittedOffset | None] = {}
        replies = []
        for queued in self._in_flight:
            outcome = self._run(queued.command, group, queued.topics)
            offsets.update(outcome.offsets)
            replies.append(outcome.reply)
            if isinstance(outcome.group, Tombstone) or (outcome.group is None and group is not None):
                return Outcome(outcome.group, replies, offsets)
            group = outcome.group
        return Outcome(group, replies, offsets)

    async def _write(
        self, known: VersionedGroup, outcome: Outcome[Group | Tombstone | None, object]
    ) -> VersionedGroup | None:
        store = self._context.store
        self._writing = True
        try:
            if outcome.group is known.group:
                written = await store.write_offsets(self.group_id, known.version, outcome.offsets)
                return known if written else None
            group = Tombstone() if outcome.group is None else outcome.group
            return await store.write(self.group_id, known.version, group, outcome.offsets)
        finally:
            self._writing = False

    async def _read(self) -> VersionedGroup:
        self._changed_version = None
        return await self._update(await self._context.store.read(self.group_id))

    async def _update(self, stored: VersionedGroup) -> VersionedGroup:
        """Set the known group; reads again if the watch has reported a newer version meanwhile."""
        while self._changed_version not in (None, stored.version):
            self._changed_version = None
            stored = await self._context.store.read(self.group_id)
        self._known, self._group = stored, stored.group
        self._on_group_changed()
        return stored

    # After a change of the group

    def _on_group_changed(self) -> None:
        self._update_timers()
        self._pending.complete(self._group)

    def _update_timers(self) -> None:
        context, group = self._context, self._group
        if group is None or self._closed:
            self._timers.update(())
            return
        owned = context.owns(self.group_id)
        self._timers.update(
            spec
            for spec in machine.timers(group, context.limits_of(self.group_id))
            if spec.broker == context.broker_id or (spec.broker is None and owned)
        )

    async def _completed(self, pending: PendingReply) -> object:
        """Wait until a join or sync is completed."""
        result = None if self._known is None else machine.try_complete(self._known.group, pending)
        if result is not None:
            return result
        if self._closed:
            raise GroupsClosed("stopping")
        return await self._pending.wait(pending)

    async def _fire(self, timer: Timer) -> None:
        def fire(group: Group | None, env: Env) -> Outcome[Group | None, bool]:
            if group is None or self._timers.is_running(timer):  # its member has sent a request since
                return Outcome(group, reply=True)
            if timer.member_id in self._requests:  # the store is slow; the reply may restart the timer
                return Outcome(group, reply=False)
            return Outcome(machine.fire(group, timer, env.limits, env.now_ms), reply=True)

        try:
            done = await self.apply(fire)
        except GroupsClosed:
            return
        except MetaError as error:
            _log.warning("group_timer_retry", group=self.group_id, timer=timer.kind.name, error=str(error))
            done = False
        self._timers.restart(timer, None if done else _RETRY_S)


def _fail(commands: Iterable[_Queued], error: BaseException) -> None:
    for queued in commands:
        if not queued.reply.done():
            queued.reply.set_exception(error)


def _retrieve_exception(reply: "asyncio.Future[Any]") -> None:
    """Keep asyncio from logging an exception that has no caller left."""
    if not reply.cancelled():
        reply.exception()
