"""Making stored objects visible: plan, commit, and only then tell.

The plan is made from what this process knows of the streams. If somebody else was there first the commit is
lost, what was known is forgotten, and it is planned again from what is true now.
"""

from asyncio import Future
from collections.abc import Iterable, Sequence

from dray.ids import StreamId
from dray.index import head_key, staging_key
from dray.log.errors import LogError, NotStored, OutcomeUncertain
from dray.log.parts import DomainParts
from dray.log.plan import CommitPlan, Outcome, StreamState, plan_commit
from dray.log.stages import Appended, Sealed, Stored
from dray.meta.port import Conflict, MetaError, OutcomeUnknown, Versions


class Committer:
    """Commits the stored objects of one domain, one commit at a time."""

    def __init__(self, parts: DomainParts) -> None:
        self._parts = parts

    async def commit(self, stored: Sequence[Stored]) -> LogError | None:
        """Commit `stored` in their order and tell whoever waits; an error says why none was committed."""
        streams = list(dict.fromkeys(chunk.stream for wal in stored for chunk in wal.sealed.chunks))
        try:
            while stored:
                plan, result, mark = await self._attempt(stored, streams)
                if isinstance(result, Versions):
                    self._adopt(plan, result, mark)
                    self._acknowledge(stored, plan)
                    return None
                self._parts.log.metrics.commit_conflicts.inc()
                stored = self._without_condemned(stored, result)
        except OutcomeUnknown as error:
            return _because(error, OutcomeUncertain(f"the batch may or may not have been committed: {error}"))
        except MetaError as error:
            return _because(error, NotStored(f"the batch was not committed, send it again: {error}"))
        return None

    def give_up(self, sealed: Sealed, error: LogError) -> None:
        """Fail every batch of `sealed`, none of which was committed, whether or not somebody still waits."""
        self._parts.shared.complaints.tell(error)
        for chunk in sealed.chunks:
            for pending in chunk.pendings:
                self._parts.lost_sequences.note(chunk.stream, pending)
                _tell(pending.done, error)
            self._parts.log.metrics.lost_batches.inc(len(chunk.pendings))

    async def _attempt(
        self, stored: Sequence[Stored], streams: Iterable[StreamId]
    ) -> tuple[CommitPlan, Versions | Conflict, int]:
        log, domain = self._parts.log, self._parts.domain
        states = await self._parts.states.load(streams)
        plan = plan_commit(
            domain,
            stored,
            states,
            lost=self._parts.lost_sequences,
            now_ms=log.clock.now_ms(),
            settings=log.settings,
        )
        if not plan.checks:
            return plan, Versions(()), 0
        committed = False
        result: Versions | Conflict | None = None
        started = log.clock.monotonic()
        mark = self._parts.heads.mark()
        try:
            result = await log.meta.commit(self._parts.store_domain, plan.checks, plan.writes)
            committed = isinstance(result, Versions)
        finally:
            if not committed:  # lost, failed or unknown: what is at hand of these streams may be wrong
                self._parts.states.forget(_doubtful(streams, result))
        log.metrics.commit_seconds.observe(log.clock.monotonic() - started)
        return plan, result, mark

    def _without_condemned(self, stored: Sequence[Stored], conflict: Conflict) -> list[Stored]:
        """Leave out objects whose staging marker is gone: the sweep took this process for dead."""
        lost = set(conflict.keys)
        kept = []
        for wal in stored:
            if staging_key(self._parts.domain, wal.reservation.wal_id) in lost:
                self.give_up(
                    wal.sealed, NotStored(f"{wal.reservation.path} was swept before it was committed")
                )
            else:
                kept.append(wal)
        return kept

    def _adopt(self, plan: CommitPlan, versions: Versions, mark: int) -> None:
        """Take over what is now true, before anybody is told."""
        for stream, write in plan.head_writes.items():
            grown = plan.grown[stream]
            self._parts.states.adopt(stream, StreamState(grown.head, versions.of[write], grown.producers))
            self._parts.heads.learn(stream, grown.head, mark)
            self._parts.lost_sequences.forget_known(stream, grown.producers)
        for entry in plan.entries:
            self._parts.shared.index.add(entry)

    def _acknowledge(self, stored: Sequence[Stored], plan: CommitPlan) -> None:
        for wal, outcomes in zip(stored, plan.outcomes, strict=True):
            for chunk, placed, said in zip(wal.sealed.chunks, wal.placed, outcomes, strict=True):
                self._parts.shared.recent.keep(wal.reservation.wal_id, chunk, placed)
                for pending, outcome in zip(chunk.pendings, said, strict=True):
                    _tell(pending.done, outcome)


def _tell(done: "Future[Appended]", outcome: Outcome) -> None:
    if done.done():
        return  # whoever asked has gone away
    if isinstance(outcome, LogError):
        done.set_exception(outcome)
        done.exception()  # counts as looked at: nobody has to wait for it
    else:
        done.set_result(outcome)


def _doubtful(streams: Iterable[StreamId], result: Versions | Conflict | None) -> list[StreamId]:
    """The streams whose states must be read again; after a conflict, those that were told, if any was."""
    told = set(result.keys) if isinstance(result, Conflict) else set()
    named = [stream for stream in streams if head_key(stream) in told]
    return list(streams) if result is None else named


def _because(cause: Exception, error: LogError) -> LogError:
    error.__cause__ = cause
    return error
