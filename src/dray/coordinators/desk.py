"""One group on this broker: everything that is asked of it passes here, in order.

    asked ─▶ queue ─▶ applied to what is known of the group ─▶ one commit ─▶ answered

What waits in the queue while a commit is under way is put into the next one, so many members that join at
once cost few commits. If another broker was faster, the group is read and the same steps are applied again.

A step that changes nothing is answered at once from what is known, without the queue: that is a quiet
heartbeat. What is known may be a moment old then, as another broker's change is told by the watch; nothing
that matters is decided on it, since every change is checked against the store.

Joins and syncs that wait for others are kept here with their callers; after each change of the group, be it
ours or another broker's, the machine is asked which of them have their answer.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar, cast

from dray.coordinators.alarms import Alarms, GroupTimers
from dray.coordinators.census import Census
from dray.coordinators.decision import Decision, Step
from dray.coordinators.group_store import GroupStore, Known
from dray.coordinators.metrics import GroupMetrics
from dray.groups import machine
from dray.groups.group import Doomed, Group
from dray.groups.limits import GroupLimits
from dray.groups.outcome import Parked, Timer
from dray.meta.port import MetaError, Version, Write
from dray.observe import get_logger
from dray.runtime import Clock, Tasks

R = TypeVar("R")
_BATCH = 64
"""The most asks of one commit."""
_RETRY_SECONDS = 1.0
_log = get_logger("groups")


class GroupsClosed(Exception):
    """This broker no longer serves groups; another one does."""


@dataclass(frozen=True, slots=True)
class Office:
    """What all desks of a broker share."""

    broker_id: int
    store: GroupStore
    limits_of: Callable[[str], GroupLimits]
    cares_for: Callable[[str], bool]
    """Whether this broker is the one that runs a group's own timers."""
    clock: Clock
    tasks: Tasks
    timers: GroupTimers
    metrics: GroupMetrics
    census: Census


class _Asked(NamedTuple):
    step: Step[Any]
    answer: "asyncio.Future[Any]"


class _Applied(NamedTuple):
    group: Group | Doomed | None
    writes: list[Write]
    replies: list[Any]
    """One for each ask, up to the one that ended the group."""


class Desk:
    """Serves one group."""

    def __init__(self, group_id: str, office: Office, known: Known | None = None) -> None:
        self.group_id = group_id
        self._office = office
        self._known = known
        self._shown = None if known is None else known.group
        self._noticed: Version | None = None
        """The last version that the watch told of since the store was last asked."""
        self._queue: list[_Asked] = []
        self._serving: list[_Asked] = []
        self._parked: dict[asyncio.Future[Any], Parked] = {}
        self._worker: asyncio.Task[None] | None = None
        self._alarms = Alarms(group_id, office.timers, self._ring)
        self._looked_after: tuple[frozenset[int], Known | None, GroupLimits] | None = None
        self._changed()

    @property
    def group(self) -> Group | None:
        """The group as it was a moment ago; None also when it has never been read."""
        return self._shown

    @property
    def idle(self) -> bool:
        """Whether there is no group, as far as is known, and nobody waits."""
        busy = self._queue or self._parked or self._worker is not None
        return self._known is not None and self._known.group is None and not busy

    async def ask(self, step: Step[R]) -> R:
        """Apply a step; returns its reply when it is durable, and, if it was parked, when it is settled."""
        decision = self._decided_at_once(step)
        reply: R | Parked = await self._enqueue(step) if decision is None else decision.reply
        if isinstance(reply, Parked):
            return cast("R", await self._park(reply))
        return reply

    def touch(self, member_id: str) -> None:
        """Take note that a member called."""
        self._alarms.touch(member_id)

    def noticed(self, version: Version) -> None:
        """Take note that the group was changed, by this broker or by another."""
        if self._known is not None and self._known.version == version:
            return
        self._noticed = version
        self.forget()

    def forget(self) -> None:
        """Trust nothing that is known; read it anew."""
        if self._worker is None:
            self._known = None
            self._wake()

    def look_after(self, alive: frozenset[int]) -> None:
        """Run the timers that fall to this broker, and take over members of brokers that are gone."""
        seen = (alive, self._known, self._office.limits_of(self.group_id))
        if self._looked_after == seen:
            return
        self._looked_after = seen
        if self._known is not None:
            ours = self._office.cares_for(self.group_id)
            self._office.census.look(self.group_id, self._known.group, ours=ours)
        self._follow()
        group, me = self.group, self._office.broker_id
        if group is None or not self._office.cares_for(self.group_id):
            return
        if machine.adopt(group, alive, me) is not group:
            self._enqueue(lambda now: Decision(now and machine.adopt(now, alive, me), None))

    def close(self) -> None:
        """Tell everybody who waits that this broker is not the one any more."""
        _fail([*self._parked, *(asked.answer for asked in self._queue)], GroupsClosed("stopping"))
        self._queue.clear()
        self._alarms.follow(())

    def _decided_at_once(self, step: Step[R]) -> Decision[R] | None:
        if self._known is None or self._queue or self._worker is not None:
            return None
        decision = step(self._known.group)
        unchanged = decision.group is self._known.group and not decision.writes
        return decision if unchanged else None

    def _enqueue(self, step: Step[Any]) -> "asyncio.Future[Any]":
        answer = asyncio.get_running_loop().create_future()
        answer.add_done_callback(_look_at_outcome)  # whoever asked may be gone
        self._queue.append(_Asked(step, answer))
        self._wake()
        return answer

    # The work

    def _wake(self) -> None:
        if self._worker is None:
            self._worker = self._office.tasks.start(self._work(), name="group")
            self._worker.add_done_callback(self._ended)

    async def _work(self) -> None:
        while self._queue or self._known is None:
            self._serving, self._queue = self._queue[:_BATCH], self._queue[_BATCH:]
            try:
                await self._serve()
            except MetaError as error:
                _fail([asked.answer for asked in self._serving], error)
                self._known = None  # what was to be written may be there
                if not self._queue:
                    await self._office.clock.sleep(_RETRY_SECONDS)
            self._serving = []

    def _ended(self, task: "asyncio.Task[None]") -> None:
        """A worker that broke (the supervisor has told why) or was stopped leaves nobody waiting."""
        self._worker = None
        if task.cancelled():
            self.close()
        elif error := task.exception():
            _fail([asked.answer for asked in self._serving], error)
        elif self._is_outdated():
            self.forget()
        if self._queue:
            self._wake()

    def _is_outdated(self) -> bool:
        """Whether the group was changed after what is known of it was read."""
        return self._known is not None and self._noticed not in (None, self._known.version)

    async def _serve(self) -> None:
        known = await self._read() if self._known is None or self._is_outdated() else self._known
        applied = _apply(self._serving, known.group)
        while applied.group is not known.group or applied.writes:
            self._noticed = None
            stored = await self._write(known, applied)
            if stored is not None:
                await self._take(stored)
                break
            self._office.metrics.conflicts.inc()
            known = await self._read()
            applied = _apply(self._serving, known.group)
        answered = len(applied.replies)
        self._queue[:0] = self._serving[answered:]
        for asked, reply in zip(self._serving, applied.replies, strict=False):
            if not asked.answer.done():
                asked.answer.set_result(reply)

    async def _write(self, known: Known, applied: _Applied) -> Known | None:
        store = self._office.store
        if applied.group is known.group:
            written = await store.write_beside(self.group_id, known.version, applied.writes)
            return known if written else None
        group = Doomed() if applied.group is None else applied.group
        return await store.write(self.group_id, known.version, group, applied.writes)

    async def _read(self) -> Known:
        self._noticed = None
        return await self._take(await self._office.store.read(self.group_id))

    async def _take(self, stored: Known) -> Known:
        """Take what the store has as known, unless it has changed meanwhile."""
        while self._noticed not in (None, stored.version):
            self._noticed = None
            stored = await self._office.store.read(self.group_id)
        self._known, self._shown = stored, stored.group
        self._changed()
        return stored

    # What follows from a change

    def _changed(self) -> None:
        self._follow()
        for answer, parked in list(self._parked.items()):
            reply = machine.settle(self.group, parked)
            if reply is not None and not answer.done():
                answer.set_result(reply)

    def _follow(self) -> None:
        office, group = self._office, self.group
        if group is None:
            self._alarms.follow(())
            return
        caring = office.cares_for(self.group_id)
        self._alarms.follow(
            asked
            for asked in machine.timers(group, office.limits_of(self.group_id))
            if asked.broker == office.broker_id or (asked.broker is None and caring)
        )

    async def _park(self, parked: Parked) -> object:
        settled = None if self._known is None else machine.settle(self._known.group, parked)
        if settled is not None:
            return settled
        answer = asyncio.get_running_loop().create_future()
        self._parked[answer] = parked
        try:
            return await answer
        finally:
            del self._parked[answer]

    async def _ring(self, timer: Timer) -> None:
        def fire(group: Group | None) -> Decision[None]:
            if group is None or self._alarms.is_set(timer):  # its member has called since
                return Decision(group, None)
            limits = self._office.limits_of(self.group_id)
            return Decision(machine.fire(group, timer, limits, self._office.clock.now_ms()), None)

        try:
            await self.ask(fire)
        except GroupsClosed:
            return
        except MetaError as error:
            _log.warning("timer_in_vain", group=self.group_id, timer=timer.kind.name, error=str(error))
            self._alarms.rang(timer, _RETRY_SECONDS)
        else:
            self._alarms.rang(timer)


def _apply(asks: list[_Asked], group: Group | None) -> _Applied:
    """Apply asks one after the other; those behind the end of the group are left for a new one."""
    writes: dict[str, Write] = {}
    replies = []
    for asked in asks:
        decision = asked.step(group)
        writes.update({write.key: write for write in decision.writes})
        replies.append(decision.reply)
        if isinstance(decision.group, Doomed) or (decision.group is None and group is not None):
            return _Applied(decision.group, list(writes.values()), replies)
        group = decision.group
    return _Applied(group, list(writes.values()), replies)


def _fail(answers: "list[asyncio.Future[Any]]", error: BaseException) -> None:
    for answer in answers:
        if not answer.done():
            answer.set_exception(error)


def _look_at_outcome(answer: "asyncio.Future[Any]") -> None:
    if not answer.cancelled():
        answer.exception()
