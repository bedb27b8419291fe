"""Detach: expired files are removed from the table first, and only then from the bucket."""

from dataclasses import replace

import pytest

from dray.compaction.topic_tables import table_of
from dray.ids import FileId
from dray.index import file_path
from dray.log import LogSettings
from dray.maintenance.detach import Detacher
from dray.maintenance.differences import expired_files
from dray.objects.memory import MemoryObjects
from dray.sweep.files import FileSweep
from dray.tables.port import LiveFile, OutcomeUnknown
from dray.testing.entropy import SeededEntropy
from dray.testing.memory_tables import MemoryTables, ScriptedFaults
from dray.testing.memory_tables.faults import Faults
from tests.compaction.rounds import Compaction
from tests.log.builders import DOMAIN, ONE, Rig, simulated
from tests.log.compacting import TOPIC


async def _trimmed(rig: Rig) -> Compaction:
    """Return a compacted stream of two files, the first of which the log has released."""
    opened = await rig.open()
    compaction = Compaction(rig)
    for number in range(2):
        await opened.append(f"a{number}")
        await compaction.run(f"c{number}")
    await opened.log.trim(ONE, 1)
    return compaction


def _detacher(rig: Rig, compaction: Compaction, faults: Faults | None = None) -> Detacher:
    tables = MemoryTables(compaction.catalog, faults)
    return Detacher(
        rig.meta, 1, tables, clock=rig.clock, entropy=SeededEntropy("detacher"), settings=LogSettings()
    )


async def _detach(detacher: Detacher) -> int:
    pending = await detacher.pending()
    return sum([await detacher.detach(topic, marked, {0: 1}) for topic, marked in pending.items()])


async def _swept(rig: Rig) -> int:
    await rig.settle(7_200)
    objects = MemoryObjects(rig.bucket)
    return await FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40).run()


@simulated
async def test_file_released_by_the_index_is_removed_from_the_table(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    assert await _swept(rig) == 0
    assert await _detach(_detacher(rig, compaction)) == 1
    assert compaction.table() == {0: [(1, 1)]}
    assert await _swept(rig) == 1
    live = [file.path for file in compaction.catalog.current(table_of(TOPIC)).files]
    assert [path for path in rig.paths() if path.endswith(".parquet")] == live


def test_only_files_of_other_engines_expire_by_log_start() -> None:
    """The index may keep ours after its last row has expired: the end of its range can be empty."""
    path = file_path("t", 0, "2026/11/16", ONE, FileId(bytes(16)))
    ours = LiveFile(path, 1, 81, 0, 0, 80)
    theirs = replace(ours, path="iceberg/topic=t/data/1.parquet")
    assert expired_files([ours, theirs], {0: 90}) == (theirs,)
    assert expired_files([theirs, replace(theirs, partition=None)], {0: 80}) == ()


@simulated
async def test_repeated_detach_changes_nothing(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    await _detach(_detacher(rig, compaction))
    snapshot = compaction.catalog.current(table_of(TOPIC)).snapshot_id
    assert await _detach(_detacher(rig, compaction)) == 0
    assert compaction.catalog.current(table_of(TOPIC)).snapshot_id == snapshot


@simulated
async def test_commit_with_a_lost_response_is_not_repeated(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    with pytest.raises(OutcomeUnknown):
        await _detach(_detacher(rig, compaction, ScriptedFaults("replace", ["lost_answer"])))
    assert await _swept(rig) == 0
    assert await _detach(_detacher(rig, compaction)) == 0
    assert await _swept(rig) == 1


@simulated
async def test_grace_period_starts_again_when_the_table_releases_a_file(rig: Rig) -> None:
    """However long ago the index released the file."""
    compaction = await _trimmed(rig)
    await rig.settle(7_200)
    await _detach(_detacher(rig, compaction))
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40)
    assert await sweep.run() == 0
    await rig.settle(7_200)
    assert await sweep.run() == 1
