"""Mutants of the log and its stores, each of which breaks a rule that the simulation must detect."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dray.ids import MetaDomain, StreamId
from dray.keyspace import staging_key
from dray.log import LogError
from dray.log import commit as commit_module
from dray.log.commit import Committer
from dray.log.heads import Heads
from dray.log.lost_sequences import LostSequences
from dray.log.plan import CommitPlan, plan_commit
from dray.log.references import References
from dray.log.stages import Stored
from dray.log.writer import DomainWriter
from dray.meta.memory import MemoryMetaStore
from dray.meta.port import Entry, Version, Versions
from dray.sweep.wal import WalSweep

Mutate = Callable[[pytest.MonkeyPatch], None]


def acknowledge_before_commit(patch: pytest.MonkeyPatch) -> None:
    async def commit(self: Committer, stored: Sequence[Stored]) -> LogError | None:
        streams = list(dict.fromkeys(chunk.stream for wal in stored for chunk in wal.sealed.chunks))
        states = await self._states.load(streams)
        plan = plan_commit(
            self._domain,
            stored,
            states,
            lost=self._lost_sequences,
            now_ms=self._deps.clock.now_ms(),
            settings=self._deps.settings,
            writes_max=self._deps.meta.limits.writes_max,
        )
        self._acknowledge(stored, plan)
        return await original(self, stored)

    original = Committer.commit
    patch.setattr(Committer, "commit", commit)


def commit_out_of_order(patch: pytest.MonkeyPatch) -> None:
    async def first_upload(self: DomainWriter) -> Stored | LogError:
        while True:
            for place, in_flight in enumerate(self._queue):
                if in_flight.upload.done():  # commits whichever object is uploaded first
                    del self._queue[place]
                    self._queue.appendleft(in_flight)
                    return await original(self)
            uploads = [in_flight.upload for in_flight in self._queue]
            await asyncio.wait(uploads, return_when=asyncio.FIRST_COMPLETED)

    original = DomainWriter._first_upload
    patch.setattr(DomainWriter, "_first_upload", first_upload)


def collect_live_objects(patch: pytest.MonkeyPatch) -> None:
    """Delete old uncommitted objects without first making sure that they cannot be committed."""

    async def condemn(self: WalSweep, found: Entry) -> Version | None:
        return found.version

    async def delete(self: WalSweep, path: str, key: str, version: Version) -> None:
        await self._objects.delete(path)

    patch.setattr(WalSweep, "_condemn", condemn)
    patch.setattr(WalSweep, "_delete", delete)


def trust_timed_out_commits(patch: pytest.MonkeyPatch) -> None:
    async def resolve(self: MemoryMetaStore, commit_id: bytes) -> Versions:
        return Versions((Version(1),) * 1_000)

    patch.setattr(MemoryMetaStore, "resolve_lost_commit", resolve)


def retry_timed_out_commits(patch: pytest.MonkeyPatch) -> None:
    """Treat a commit whose response was lost as one that failed."""

    async def resolve(self: MemoryMetaStore, commit_id: bytes) -> str:
        return "fenced"

    patch.setattr(MemoryMetaStore, "resolve_lost_commit", resolve)


def _with_plan(
    patch: pytest.MonkeyPatch, change: Callable[[MetaDomain, CommitPlan, Sequence[Stored]], None]
) -> None:
    def plan(domain: MetaDomain, stored: Sequence[Stored], *rest: Any, **named: Any) -> CommitPlan:
        planned = plan_commit(domain, stored, *rest, **named)
        change(domain, planned, stored)
        return planned

    patch.setattr(commit_module, "plan_commit", plan)


def commit_without_checking_heads(patch: pytest.MonkeyPatch) -> None:
    def change(domain: MetaDomain, plan: CommitPlan, stored: Sequence[Stored]) -> None:
        plan.checks = [check for check in plan.checks if not check.key.endswith("/head")]

    _with_plan(patch, change)


def commit_without_checking_the_marker(patch: pytest.MonkeyPatch) -> None:
    def change(domain: MetaDomain, plan: CommitPlan, stored: Sequence[Stored]) -> None:
        markers = {staging_key(domain, wal.reservation.wal_id) for wal in stored}
        plan.checks = [check for check in plan.checks if check.key not in markers]

    _with_plan(patch, change)


def serve_stale_ends(patch: pytest.MonkeyPatch) -> None:
    """Report a cached high watermark without reading the store."""

    async def fresh(self: Heads, stream: StreamId) -> Any:
        return self.known(stream) or await original(self, stream)

    original = Heads.fresh
    patch.setattr(Heads, "fresh", fresh)


def trim_without_releasing_references(patch: pytest.MonkeyPatch) -> None:
    async def released(self: References, entries: object, *, in_table: bool) -> tuple[list[Any], list[Any]]:
        return [], []

    patch.setattr(References, "released", released)


def let_batches_past_lost_ones(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LostSequences, "first", lambda *_: None)


MUTANTS: dict[Mutate, str] = {
    acknowledge_before_commit: "I2",
    commit_out_of_order: "order",
    collect_live_objects: "I2",
    trust_timed_out_commits: "I2",
    retry_timed_out_commits: "",
    commit_without_checking_heads: "",
    commit_without_checking_the_marker: "",
    serve_stale_ends: "I2",
    trim_without_releasing_references: "audit",
    let_batches_past_lost_ones: "",
}
"""Each mutant with the rule that it breaks; an empty one means any rule."""
