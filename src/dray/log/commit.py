"""Index commit of uploaded objects: plan, commit, and only then acknowledge.

The plan is made from cached stream states. If another broker committed first, the commit is a conflict: the
states it names are dropped, and the commit is planned again from the store. After several conflicts in a row
the other brokers are asked to wait (see `alternation`).
"""

from asyncio import Future
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from dray.ids import MetaDomain, StreamId
from dray.keyspace import contended_key, head_key, log_domain, staging_key
from dray.log.chunks import RecentChunks
from dray.log.deps import LogDeps
from dray.log.errors import LogError, NotStored, OutcomeUncertain
from dray.log.heads import Heads
from dray.log.index_cache import IndexCache
from dray.log.lost_sequences import LostSequences
from dray.log.plan import CommitPlan, Outcome, StreamState, plan_commit
from dray.log.reporting import ErrorReporter
from dray.log.stages import Appended, Sealed, Stored
from dray.log.states import StreamStates
from dray.meta.port import Conflict, MetaError, OutcomeUnknown, Put, Versions

_CONFLICTS: Final = 2
"""Conflicts in a row that a stale cache alone does not explain."""


class Committer:
    """Commits the stored objects of one domain, one commit at a time."""

    def __init__(
        self,
        domain: MetaDomain,
        deps: LogDeps,
        *,
        states: StreamStates,
        heads: Heads,
        index: IndexCache,
        recent: RecentChunks,
        errors: ErrorReporter,
    ) -> None:
        self._domain = domain
        self._deps = deps
        self._states = states
        self._heads = heads
        self._alternation = heads.alternation
        self._index = index
        self._recent = recent
        self._errors = errors
        self._lost_sequences = LostSequences()

    async def commit(self, stored: Sequence[Stored]) -> LogError | None:
        """Commit `stored` in order and acknowledge their batches; an error says why none was committed."""
        streams = list(dict.fromkeys(chunk.stream for wal in stored for chunk in wal.sealed.chunks))
        conflicts = 0
        try:
            while stored:
                plan, result, version = await self._attempt(stored, streams)
                if isinstance(result, Versions):
                    self._update_caches(plan, result, version)
                    self._acknowledge(stored, plan)
                    return None
                self._deps.metrics.commit_conflicts.inc()
                stored = self._without_condemned(stored, result)
                conflicts += 1
                if conflicts % _CONFLICTS == 0:
                    await self._report_contention(streams, result)
        except OutcomeUnknown as error:
            return _with_cause(
                error, OutcomeUncertain(f"the batch may or may not have been committed: {error}")
            )
        except MetaError as error:
            return _with_cause(error, NotStored(f"the batch was not committed, send it again: {error}"))
        return None

    async def _report_contention(self, streams: Iterable[StreamId], conflict: Conflict) -> None:
        """Ask the brokers that have won several races for a head to wait after their commits."""
        meta, domain = self._deps.meta, log_domain(self._domain)
        lost = [stream for stream in streams if head_key(stream) in conflict.keys]
        with suppress(MetaError):  # the next attempt reports it
            # A stream that was just deleted has no head, and would keep the key forever.
            puts = [Put(contended_key(one), b"") for one in lost if await meta.get(domain, head_key(one))]
            if puts:
                await meta.commit(domain, (), puts)

    async def wait_for_others(self) -> None:
        """Let other brokers commit to the streams that they share with this one."""
        await self._alternation.wait()

    def fail(self, sealed: Sealed, error: LogError) -> None:
        """Fail every batch of `sealed`, none of which was committed, even if its client has left."""
        self._errors.report(error)
        for chunk in sealed.chunks:
            for pending in chunk.pendings:
                self._lost_sequences.add(chunk.stream, pending)
                _resolve(pending.done, error)
            self._deps.metrics.lost_batches.inc(len(chunk.pendings))

    async def _attempt(
        self, stored: Sequence[Stored], streams: Iterable[StreamId]
    ) -> tuple[CommitPlan, Versions | Conflict, int]:
        deps = self._deps
        states = await self._states.load(streams)
        plan = plan_commit(
            self._domain,
            stored,
            states,
            lost=self._lost_sequences,
            now_ms=deps.clock.now_ms(),
            settings=deps.settings,
            writes_max=deps.meta.limits.writes_max,
        )
        if not plan.checks:
            return plan, Versions(()), 0
        committed = False
        result: Versions | Conflict | None = None
        started = deps.clock.monotonic()
        version = self._heads.version()
        try:
            result = await deps.meta.commit(log_domain(self._domain), plan.checks, plan.writes)
            committed = isinstance(result, Versions)
        finally:
            if not committed:  # conflict, failure or unknown outcome: cached states may be wrong
                self._states.forget(_outdated(streams, result))
        seconds = deps.clock.monotonic() - started
        deps.metrics.commit_seconds.observe(seconds)
        if committed:
            self._alternation.committed(plan.entries, seconds)
        return plan, result, version

    def _without_condemned(self, stored: Sequence[Stored], conflict: Conflict) -> list[Stored]:
        """Leave out objects without a staging marker: the orphan sweep considered this process dead."""
        lost = set(conflict.keys)
        kept = []
        for wal in stored:
            if staging_key(self._domain, wal.reservation.wal_id) in lost:
                self.fail(wal.sealed, NotStored(f"{wal.reservation.path} was swept before it was committed"))
            else:
                kept.append(wal)
        return kept

    def _update_caches(self, plan: CommitPlan, versions: Versions, version: int) -> None:
        """Update the caches, before any batch is acknowledged."""
        for stream, write in plan.head_writes.items():
            appended = plan.appended[stream]
            state = StreamState(appended.head, versions.of[write], appended.producers)
            self._states.record_own_commit(stream, plan.writes[write].key, state)
            self._heads.update(stream, appended.head, version)
            self._lost_sequences.forget_known(stream, appended.producers)
        for entry in plan.entries:
            self._index.add(entry)

    def _acknowledge(self, stored: Sequence[Stored], plan: CommitPlan) -> None:
        for wal, outcomes in zip(stored, plan.outcomes, strict=True):
            for chunk, placed, results in zip(wal.sealed.chunks, wal.placed, outcomes, strict=True):
                self._recent.keep(wal.reservation.wal_id, chunk, placed)
                for (_, _, done), outcome in zip(chunk.pendings, results, strict=True):
                    _resolve(done, outcome)


def _resolve(done: "Future[Appended]", outcome: Outcome) -> None:
    if done.done():
        return  # cancelled: the client has left
    if isinstance(outcome, LogError):
        done.set_exception(outcome)
        done.exception()  # marks it as retrieved, so that asyncio does not warn
    else:
        done.set_result(outcome)


def _outdated(streams: Iterable[StreamId], result: Versions | Conflict | None) -> list[StreamId]:
    """Return the streams whose states must be read again; after a conflict, those that it names."""
    conflicting = set(result.keys) if isinstance(result, Conflict) else set()
    named = [stream for stream in streams if head_key(stream) in conflicting]
    return list(streams) if result is None else named


def _with_cause(cause: Exception, error: LogError) -> LogError:
    error.__cause__ = cause
    return error
