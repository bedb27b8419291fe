"""What retention gives up leaves the table too, and only then the bucket."""

from dataclasses import replace

import pytest

from dray.ids import FileId
from dray.index import file_path
from dray.log import LogSettings
from dray.objects.memory import MemoryObjects
from dray.pipeline.care.detach import Detacher
from dray.pipeline.care.differences import outlived
from dray.pipeline.topic_tables import table_of
from dray.runtime import SeededEntropy
from dray.sweep.files import FileSweep
from dray.tables.memory import MemoryTables, ScriptedFaults
from dray.tables.memory.faults import Faults
from dray.tables.port import LiveFile, OutcomeUnknown
from tests.log.builders import DOMAIN, ONE, Rig, simulated
from tests.log.compacting import TOPIC
from tests.pipeline.rounds import Compaction


async def _trimmed(rig: Rig) -> Compaction:
    """Two files, of which the log has given up the first."""
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
    waiting = await detacher.waiting()
    return sum([await detacher.detach(topic, marked, {0: 1}) for topic, marked in waiting.items()])


async def _swept(rig: Rig) -> int:
    await rig.settle(7_200)
    objects = MemoryObjects(rig.bucket)
    return await FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40).run()


@simulated
async def test_the_table_gives_up_what_the_index_gave_up(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    assert await _swept(rig) == 0
    assert await _detach(_detacher(rig, compaction)) == 1
    assert compaction.table() == {0: [(1, 1)]}
    assert await _swept(rig) == 1
    live = [file.path for file in compaction.catalog.current(table_of(TOPIC)).files]
    assert [path for path in rig.paths() if path.endswith(".parquet")] == live


def test_a_file_of_ours_goes_only_when_the_index_says_so() -> None:
    """The index may keep it though the log starts behind its last row: the end of its range can be empty."""
    path = file_path("t", 0, "2026/11/16", ONE, FileId(bytes(16)))
    ours = LiveFile(path, 1, 81, 0, 0, 80)
    theirs = replace(ours, path="iceberg/topic=t/data/1.parquet")
    assert outlived([ours, theirs], {0: 90}) == (theirs,)
    assert outlived([theirs, replace(theirs, partition=None)], {0: 80}) == ()


@simulated
async def test_doing_it_again_changes_nothing(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    await _detach(_detacher(rig, compaction))
    snapshot = compaction.catalog.current(table_of(TOPIC)).snapshot_id
    assert await _detach(_detacher(rig, compaction)) == 0
    assert compaction.catalog.current(table_of(TOPIC)).snapshot_id == snapshot


@simulated
async def test_a_commit_whose_answer_was_lost_is_not_done_twice(rig: Rig) -> None:
    compaction = await _trimmed(rig)
    with pytest.raises(OutcomeUnknown):
        await _detach(_detacher(rig, compaction, ScriptedFaults("replace", ["lost_answer"])))
    assert await _swept(rig) == 0
    assert await _detach(_detacher(rig, compaction)) == 0
    assert await _swept(rig) == 1


@simulated
async def test_readers_of_older_snapshots_get_their_grace(rig: Rig) -> None:
    """However long ago the index gave the file up."""
    compaction = await _trimmed(rig)
    await rig.settle(7_200)
    await _detach(_detacher(rig, compaction))
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1 << 40)
    assert await sweep.run() == 0
    await rig.settle(7_200)
    assert await sweep.run() == 1
