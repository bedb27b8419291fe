"""Mutants that rely on a metadata store that is fast and never away; only networked seeds detect them.

With them is one that other seeds rarely detect: it needs a commit that arrives long after its sender.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from dray.coordinators.shard import GroupShard
from dray.coordinators.shards import GroupShards
from dray.ids import StreamId
from dray.index import StreamHead
from dray.log.heads import Heads
from dray.log.reader import DomainReader
from dray.log.stream_watch import StreamWatch
from dray.meta.leased_session import LeasedSession
from dray.meta.memory import MemoryMetaStore
from dray.meta.memory.watching import MemoryWatch
from dray.meta.port import ChangeBatch, OutcomeUnknown, Unavailable
from tests.sim.group_mutants import commit_offsets_without_version_check

Mutate = Callable[[pytest.MonkeyPatch], None]
_USUAL_LAG_S = 0.25
"""Much longer than an embedded store ever takes to report a change."""


def trust_cached_ends_after_a_while(patch: pytest.MonkeyPatch) -> None:
    """Return the cached end of a stream once the watch had time to report a newer one, instead of reading."""

    async def fresh(self: Heads, stream: StreamId) -> StreamHead:
        await self._clock.sleep(_USUAL_LAG_S)
        return self.known(stream) or await original(self, stream)

    original = Heads.fresh
    patch.setattr(Heads, "fresh", fresh)


def wait_for_the_watch_at_the_end(patch: pytest.MonkeyPatch) -> None:
    """At the end of a stream, wait for the watch to report more, instead of reading."""

    async def head_for(self: DomainReader, stream: StreamId, offset: int) -> StreamHead:
        head = self._heads.known(stream)
        if head is None or offset < head.high_watermark:
            return await original(self, stream, offset)
        changed = StreamWatch(lambda _: self._heads)
        changed.add(stream)
        with suppress(TimeoutError):
            async with asyncio.timeout(_USUAL_LAG_S):
                await changed.wait()
        changed.close()
        return self._heads.known(stream) or await original(self, stream, offset)

    original = DomainReader._head_for
    patch.setattr(DomainReader, "_head_for", head_for)


def retry_commits_that_cannot_be_looked_up(patch: pytest.MonkeyPatch) -> None:
    """Treat a commit whose outcome cannot be looked up as one that failed, and send it again."""

    async def resolve(self: MemoryMetaStore, commit_id: str) -> Any:
        try:
            return await original(self, commit_id)
        except OutcomeUnknown:
            return "fenced"

    original = MemoryMetaStore.resolve_lost_commit
    patch.setattr(MemoryMetaStore, "resolve_lost_commit", resolve)


def report_unknown_outcomes_as_failures(patch: pytest.MonkeyPatch) -> None:
    """Report a commit whose outcome cannot be looked up as one that did not happen."""

    async def commit(self: MemoryMetaStore, *arguments: Any) -> Any:
        try:
            return await original(self, *arguments)
        except OutcomeUnknown as error:
            raise Unavailable(str(error)) from error

    original = MemoryMetaStore.commit
    patch.setattr(MemoryMetaStore, "commit", commit)


def ignore_gaps_of_watches(patch: pytest.MonkeyPatch) -> None:
    """Take a batch with a gap for one without changes."""

    async def receive(self: MemoryWatch) -> ChangeBatch:
        batch = await original(self)
        return ChangeBatch(batch.position, batch.changes)

    original = MemoryWatch.__anext__
    patch.setattr(MemoryWatch, "__anext__", receive)


def rely_on_expired_sessions(patch: pytest.MonkeyPatch) -> None:
    """Consider a session alive until the store says that it has ended."""

    def alive(self: LeasedSession) -> bool:
        return not self._lost.is_set()

    patch.setattr(LeasedSession, "alive", property(alive))


def count_renewals_from_their_response(patch: pytest.MonkeyPatch) -> None:
    """Count the time to live of a session from the response of a renewal, not from its request."""

    async def renew(self: LeasedSession) -> bool:
        known = await original(self)
        if known:
            self._expires_at = self._clock.monotonic() + self._ttl_s
        return known

    original = LeasedSession._renew
    patch.setattr(LeasedSession, "_renew", renew)


def answer_from_memory_when_not_registered(patch: pytest.MonkeyPatch) -> None:
    """Trust what is known of a group although other brokers may have taken over its members unnoticed."""

    def get(self: GroupShards, group_id: str) -> GroupShard:
        shard = self.find(group_id)
        return original(self, group_id) if shard is None else shard

    original = GroupShards.get
    patch.setattr(GroupShards, "get", get)


def keep_owners_of_groups_while_the_same_brokers_live(patch: pytest.MonkeyPatch) -> None:
    """Do not notice that this broker was not registered for a moment."""

    def owns(self: GroupShards, group_id: str) -> bool:
        alive = {broker.broker_id for broker in self._deps.brokers.all()} | {self._deps.broker_id}
        if alive == known.get(self):
            self._owned_at = self._deps.brokers.version
        known[self] = alive
        return original(self, group_id)

    known: dict[GroupShards, set[int]] = {}
    original = GroupShards.owns
    patch.setattr(GroupShards, "owns", owns)


def expel_members_whose_requests_wait(patch: pytest.MonkeyPatch) -> None:
    """End the session of a member although the store has not answered its request yet."""

    @contextmanager
    def requesting(self: GroupShard, member_id: str | None) -> Iterator[None]:
        yield

    patch.setattr(GroupShard, "_requesting", requesting)


@dataclass(frozen=True, slots=True)
class Mutant:
    """The rules of which it breaks at least one, and a seed known to detect it, which is tried first."""

    rules: tuple[str, ...]
    seed: int


LOG_MUTANTS: dict[Mutate, Mutant] = {
    trust_cached_ends_after_a_while: Mutant(("I1", "I2"), seed=8),
    wait_for_the_watch_at_the_end: Mutant(("I1", "I2"), seed=1),
    retry_commits_that_cannot_be_looked_up: Mutant(("I3", "I4", "audit"), seed=14),
    report_unknown_outcomes_as_failures: Mutant(("I3",), seed=14),
}

GROUP_MUTANTS: dict[Mutate, Mutant] = {
    ignore_gaps_of_watches: Mutant(("G1", "G5"), seed=39),
    rely_on_expired_sessions: Mutant(("G7",), seed=1),
    count_renewals_from_their_response: Mutant(("G7",), seed=1),
    answer_from_memory_when_not_registered: Mutant(("G1",), seed=5133),
    keep_owners_of_groups_while_the_same_brokers_live: Mutant(("G5",), seed=25),
    expel_members_whose_requests_wait: Mutant(("G1",), seed=68),
    commit_offsets_without_version_check: Mutant(("G2",), seed=3368),
}
