"""Commits of one process to one domain: a queue, and a worker that commits it group by group.

Commits that arrive while a transaction is under way form the next group, so the domain's two requests per
transaction are shared under load. Writers of other processes compete for the head; the loser reads again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from dray.ids import Domain
from dray.meta.oxia.client import NO_VERSION, OxiaClient
from dray.meta.oxia.errors import StoreClosed
from dray.meta.oxia.keys import session_key
from dray.meta.oxia.plan import InRedo, Plan, Request, State, names_to_read, plan_group
from dray.meta.oxia.records import TransactionId
from dray.meta.oxia.settings import OxiaMetaSettings
from dray.meta.oxia.transaction import Attempt, HeadMoved, Transactions, View
from dray.meta.port import Conflict, MetaError, OutcomeUnknown, SessionId, Unavailable, Versions
from dray.observe import get_logger
from dray.runtime import Clock, Entropy, SupervisorStopped, Tasks, retry

T = TypeVar("T")
_log = get_logger("meta")
_LOOKS_BEFORE_HELP: Final = 5
_LOST_RACE_S: Final = 0.004
_LOST_RACE_MAX_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Context:
    """What all domains of a store share."""

    client: OxiaClient
    settings: OxiaMetaSettings
    writer: bytes
    clock: Clock
    entropy: Entropy
    tasks: Tasks

    async def with_retries(self, attempt: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call that is safe to repeat, while the store is unavailable."""
        return await retry(
            attempt,
            on=(Unavailable,),
            clock=self.clock,
            entropy=self.entropy,
            settings=self.settings.retry,
        )

    async def has_ended(self, session: SessionId) -> bool:
        name = session_key(session)
        (found,) = await self.client.read(await self.client.shard_of(name), [name])
        return found.version == NO_VERSION


@dataclass(slots=True)
class _Waiting:
    request: Request
    outcome: "asyncio.Future[Versions | Conflict]"

    def fail(self, error: MetaError) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(type(error)(*error.args))  # a group shares one error

    def succeed(self, outcome: Versions | Conflict) -> None:
        if not self.outcome.done():
            self.outcome.set_result(outcome)


class DomainCommits:
    """The commits of this process to one domain."""

    def __init__(self, context: Context, domain: Domain) -> None:
        self._context = context
        self._domain = domain
        self._transactions = Transactions(context.client, domain)
        self._queue: deque[_Waiting] = deque()
        self._group: list[_Waiting] = []
        self._sequence = 0
        self._in_doubt = False
        self._worker: asyncio.Task[None] | None = None

    async def commit(self, request: Request) -> Versions | Conflict:
        """Return the outcome. A cancelled caller does not stop a commit that has begun."""
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        self._queue.append(waiting)
        if self._worker is None or self._worker.done():
            self._start()
        return await waiting.outcome

    def close(self) -> None:
        """End all commits; the outcome of those under way is unknown."""
        if self._worker is not None:
            self._worker.cancel()
        self._abandon()

    def _start(self) -> None:
        try:
            self._worker = self._context.tasks.start(self._work(), name=f"commit to {self._domain}")
        except SupervisorStopped:
            self._abandon()

    async def _work(self) -> None:
        try:
            while self._queue:
                self._group = self._take_group()
                try:
                    await self._commit_group()
                except MetaError as error:
                    self._fail_group(error)
        finally:
            self._abandon()  # nothing is left, unless the task was cancelled

    def _abandon(self) -> None:
        self._fail_group(StoreClosed())
        while self._queue:
            self._queue.popleft().fail(Unavailable("the metadata store is closed"))

    def _take_group(self) -> list[_Waiting]:
        settings = self._context.settings
        group: list[_Waiting] = []
        size = 0
        while self._queue and len(group) < settings.group_commits_max:
            size += self._queue[0].request.size()
            if group and size > settings.commit_bytes_max:
                break
            waiting = self._queue.popleft()
            if not waiting.outcome.done():  # its caller was not cancelled
                group.append(waiting)
        return group

    def _fail_group(self, error: MetaError) -> None:
        if self._in_doubt and not isinstance(error, OutcomeUnknown):
            error = OutcomeUnknown(f"a commit was sent, and its outcome could not be looked up: {error}")
        elif isinstance(error, StoreClosed):
            error = Unavailable("the metadata store is closed")
        for waiting in self._group:
            waiting.fail(error)
        self._group, self._in_doubt = [], False

    async def _commit_group(self) -> None:
        garbage: dict[str, int] = {}
        deadline = self._context.clock.monotonic() + self._context.settings.retry.budget_ms / 1000
        pause_s = _LOST_RACE_S
        while True:
            attempt = await self._plan()
            if attempt is None:
                break
            applied = await self._run(attempt)
            if applied is not None:
                self._applied(attempt.plan, applied)
                break
            garbage |= attempt.garbage
            if self._context.clock.monotonic() > deadline:
                raise Unavailable("other writers were faster again and again; nothing was committed")
            await self._context.clock.sleep(self._context.entropy.uniform(0, pause_s))
            pause_s = min(2 * pause_s, _LOST_RACE_MAX_S)
        if garbage:
            await self._clean_up(garbage)

    async def _plan(self) -> Attempt | None:
        """Answer what can be answered without a transaction; return one for the others, if any."""
        requests = [waiting.request for waiting in self._group]
        dead = await self._ended_sessions(requests)
        view = await self._view(requests)
        plan = plan_group(State(self._domain, view.stored, dead), requests)
        in_redo, left = [], []
        for waiting, outcome in zip(self._group, plan.outcomes, strict=True):
            if isinstance(outcome, InRedo):
                in_redo.append(waiting)
            elif outcome is None:
                left.append(waiting)
            elif isinstance(outcome, MetaError):
                waiting.fail(outcome)
            else:
                waiting.succeed(outcome)
        self._group = in_redo
        self._queue.extendleft(reversed(left))
        if plan.is_empty:
            return None
        self._sequence += 1
        return Attempt(TransactionId(self._context.writer, self._sequence), view.at, plan, {})

    async def _run(self, attempt: Attempt) -> int | None:
        """Return the head's version that the attempt was applied with, or None if it is not committed."""
        self._in_doubt = True
        try:
            applied: int | None = await self._transactions.commit(attempt)
        except Unavailable:
            applied = await self._context.with_retries(lambda: self._transactions.settle(attempt))
        self._in_doubt = False
        return applied

    def _applied(self, plan: Plan, applied: int) -> None:
        in_redo = [outcome for outcome in plan.outcomes if isinstance(outcome, InRedo)]
        for waiting, outcome in zip(self._group, in_redo, strict=True):
            waiting.succeed(outcome.versions(applied))
        self._group = []

    async def _view(self, requests: Sequence[Request]) -> View:
        """Return a view without a pending transaction; one that stays pending is applied."""
        names = names_to_read(self._domain, requests)
        looks: dict[int, int] = {}
        while True:
            view = await self._context.with_retries(lambda: self._view_once(names))
            if view.at.head.redo is None:
                return view
            looks[view.at.version] = looks.get(view.at.version, 0) + 1
            if looks[view.at.version] > _LOOKS_BEFORE_HELP:
                await self._help(view)
            else:
                await self._context.clock.sleep(
                    self._context.settings.help_after_ms / 1000 / _LOOKS_BEFORE_HELP
                )

    async def _view_once(self, names: Sequence[str]) -> View:
        while True:
            try:
                return await self._transactions.view(names)
            except HeadMoved:
                await self._context.clock.sleep(self._context.entropy.uniform(0, _LOST_RACE_S))

    async def _help(self, view: View) -> None:
        try:
            await self._transactions.apply(view.at)
            _log.info("metadata_transaction_helped", domain=self._domain, number=view.at.head.number)
        except Unavailable:
            return  # the next look shows what has become of it

    async def _ended_sessions(self, requests: Sequence[Request]) -> frozenset[SessionId]:
        sessions: set[SessionId] = set().union(*(request.sessions() for request in requests))
        return frozenset([session for session in sorted(sessions) if await self._has_ended(session)])

    async def _has_ended(self, session: SessionId) -> bool:
        return await self._context.with_retries(lambda: self._context.has_ended(session))

    async def _clean_up(self, garbage: dict[str, int]) -> None:
        try:
            await self._transactions.clean_up(garbage)
        except Unavailable as error:
            _log.debug("placeholders_left", domain=self._domain, error=str(error))
