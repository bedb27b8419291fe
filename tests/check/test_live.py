"""A check of a cluster in use: it finds nothing wrong, but what is wrong it finds."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dray.check.deps import CheckDeps
from dray.check.findings import Finding
from dray.check.objects import ObjectCheck
from dray.check.pointers import Pointers
from dray.check.run import ClusterCheck
from dray.check.stream_findings import StreamFinding
from dray.check.streams import StreamScan
from dray.ids import StreamId
from dray.log import LogSettings
from dray.objects.memory import MemoryObjects
from dray.sweep import DomainSweep, RetentionPolicy
from dray.testing.entropy import SeededEntropy
from dray.testing.memory_tables import MemoryTables
from dray.testing.sim.tables import simulate_tables
from dray.testing.sim.tables.stores import SlowReads
from dray.testing.virtual_loop import run
from tests.compaction.passes import CompactorRig, compactor_rig, slow_meta
from tests.log.builders import DOMAIN, Rig
from tests.sim import mutants, table_mutants

_GRACE = LogSettings(wal_gc_grace_ms=50, file_gc_grace_ms=50)
Mutate = Callable[[pytest.MonkeyPatch], None]


# Without faults: not even a note


async def _checked_while_busy(seed: int) -> tuple[list[Finding], int]:
    """Check again and again while producers, compactors, trims and sweeps run; return the findings."""
    made = await compactor_rig(Rig(), "a", "b", partitions=2)
    for stream in (1, 2, 3):  # of the rig, without topics
        await made.opened.log.delete_stream(StreamId(stream))
    ended = asyncio.Event()
    found: list[Finding] = []
    checks = 0

    async def check() -> None:
        nonlocal checks
        meta = slow_meta(made.rig, SeededEntropy(f"check {seed}"))
        entropy = SeededEntropy(f"objects {seed}")
        objects = SlowReads(MemoryObjects(made.rig.bucket), made.rig.clock, entropy, 0.2)
        deps = CheckDeps(
            meta,
            objects,
            1,
            made.rig.clock,
            _GRACE,
            deep=True,
            objects_at_once=60,
            keys_at_once=3,
            pause_s=0.5,
        )
        while not ended.is_set():
            tables = MemoryTables(made.catalog)
            found.extend([one async for one in ClusterCheck(deps, tables).run()])
            checks += 1

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(check())
        tasks.create_task(_sweep(made, ended))
        async with asyncio.TaskGroup() as work:
            for topic in ("a", "b"):
                for partition in range(2):
                    work.create_task(_produce(made, topic, partition))
            work.create_task(_compact(made))
            work.create_task(_trim(made))
        ended.set()
    return found, checks


async def _produce(made: CompactorRig, topic: str, partition: int) -> None:
    stream = made.found(topic).streams[partition]
    for number in range(60):
        await made.opened.append(f"{topic}{number}", stream, producer_id=partition, epoch=0, sequence=number)
        await made.rig.clock.sleep(0.05)


async def _compact(made: CompactorRig) -> None:
    compactor, _ = made.compactor("busy", slow_stores=True)
    for _ in range(15):
        _ = [result async for result in compactor.run_pass()]
        await made.rig.clock.sleep(0.05)


async def _trim(made: CompactorRig) -> None:
    for number in range(20):
        await made.rig.clock.sleep(0.15)
        stream = made.found("ab"[number % 2]).streams[number % 4 // 2]
        head = await made.opened.log.head(stream)
        await made.opened.log.trim(stream, min(head.high_watermark, head.log_start + number % 5))


async def _sweep(made: CompactorRig, ended: asyncio.Event) -> None:
    sweep = DomainSweep(
        slow_meta(made.rig, SeededEntropy("sweep")),
        MemoryObjects(made.rig.bucket),
        DOMAIN,
        domains=1,
        clock=made.rig.clock,
        settings=_GRACE,
        policy_of=lambda _: RetentionPolicy(),
    )
    while not ended.is_set():
        await sweep.run()
        await sweep.run_strays()
        await made.rig.clock.sleep(0.2)


@pytest.mark.parametrize("seed", range(3))
def test_busy_cluster_without_faults_has_no_findings(seed: int) -> None:
    found, checks = run(_checked_while_busy(seed), seed=seed)
    assert found == []
    assert checks >= 2


# With faults: nothing lost or wrong


@pytest.mark.slow
def test_busy_cluster_with_faults_has_lost_nothing() -> None:
    verdicts = [simulate_tables(seed, checking=True) for seed in range(40, 46)]
    assert [verdict.violations for verdict in verdicts if verdict.violations] == []
    assert sum(verdict.checks for verdict in verdicts) > 60
    assert sum(verdict.crashes for verdict in verdicts) > 6


# Mutants: what breaks an invariant is found by the check, and without its confirmations it finds too much

BROKEN: dict[Mutate, str] = {
    mutants.commit_without_checking_heads: "C1: wrong",
    mutants.trim_without_releasing_references: "Unreferenced",
    table_mutants.keep_references_of_compacted_objects: "Unreferenced",
    table_mutants.release_references_twice: "Unprotected",
    table_mutants.swap_before_table_commit: "TableDiffers",
    table_mutants.trim_without_marking_files: "Unreferenced",
}


@pytest.mark.slow
@pytest.mark.parametrize("mutate", BROKEN, ids=lambda mutate: mutate.__name__)
def test_broken_invariant_is_found(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    for seed in range(30):
        violations = simulate_tables(seed, checking=True).violations
        if any(one.startswith(("C1", "check")) and BROKEN[mutate] in one for one in violations):
            return
    raise AssertionError(f"not found: {BROKEN[mutate]}")


def confirm_nothing(patch: pytest.MonkeyPatch) -> None:
    async def confirm(
        self: StreamScan, stream: StreamId, found: Sequence[StreamFinding]
    ) -> Sequence[StreamFinding]:
        return found

    patch.setattr(StreamScan, "_confirm", confirm)


def count_whatever_changes(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ObjectCheck, "_is_unchanged", _true)


def follow_removed_entries(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Pointers, "_is_unchanged", _true)


async def _true(*_: Any) -> bool:
    return True


@pytest.mark.parametrize(
    "mutate",
    [confirm_nothing, count_whatever_changes, follow_removed_entries],
    ids=lambda mutate: mutate.__name__,
)
def test_check_without_confirmation_finds_too_much(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    for seed in range(20):
        found, _ = run(_checked_while_busy(seed), seed=seed)
        if found:
            return
    raise AssertionError("no false findings")
