"""Tables that are ahead of the index, because the metadata was restored from an older backup."""

import msgspec
import pytest

from dray.compaction.job_store import JobStore
from dray.compaction.publish import Publisher
from dray.ids import Domain
from dray.index import JobState
from dray.index.table_records import Rebuild, encode_table_record
from dray.keyspace import CLUSTER_DOMAIN, rebuild_key
from dray.maintenance import rebuild
from dray.meta.port import Delete, Put, Unavailable
from dray.sweep.files import FileSweep
from dray.tables.port import LiveFile
from dray.testing.memory_tables import ScriptedFaults
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.compaction.rounds import UNMERGED
from tests.log.builders import DOMAIN, STORE_DOMAIN, Rig, simulated
from tests.log.compacting import records
from tests.log.objects import ControlledObjects

Backup = dict[Domain, dict[str, bytes]]


async def _backup(rig: Rig) -> Backup:
    async with rig.meta.snapshot() as snapshot:
        return {
            domain: {entry.key: entry.value async for page in snapshot.read(domain) for entry in page}
            for domain in (STORE_DOMAIN, CLUSTER_DOMAIN)
        }


async def _restore(made: CompactorRig, backup: Backup, *topics: str) -> None:
    """Put the metadata back, as a restore does, and open the log again."""
    meta = made.rig.meta
    for domain, keys in (await _backup(made.rig)).items():
        for key in keys:
            await meta.commit(domain, [], [Delete(key)])
        for key, value in backup[domain].items():
            await meta.commit(domain, [], [Put(key, value)])
    for topic in topics:
        record = encode_table_record(Rebuild(f"restored-{topic}", after_restore=True))
        await meta.commit(CLUSTER_DOMAIN, [], [Put(rebuild_key(made.found(topic).topic_id), record)])
    await made.rig.settle(1)
    made.opened = await made.rig.open("after the restore")


async def _is_begun(made: CompactorRig, topic: str) -> bool:
    return await made.rig.meta.get(CLUSTER_DOMAIN, rebuild_key(made.found(topic).topic_id)) is not None


async def _require_table_equals_log(made: CompactorRig, topic: str) -> None:
    """The table has every offset of the log once, in the files that the index references."""
    files = made.catalog.current(made.table(topic)).files
    assert {file.path for file in files} == {entry.path for entry in await made.files(topic)}
    offsets = [
        offset
        for first, last in made.ranges(topic)
        if first is not None and last is not None
        for offset in range(first, last + 1)
    ]
    assert offsets == [record.offset for record in await records(made.opened, made.stream(topic))]


@simulated
async def test_table_ahead_of_the_index_gets_the_rows_of_the_log(rig: Rig) -> None:
    """Offsets 2 and 3 were compacted after the backup; after the restore they are other records."""
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass(settings=UNMERGED)
    backup = await _backup(rig)
    await made.write("one")
    await made.run_pass(settings=UNMERGED)
    assert made.ranges("one") == [(0, 1), (2, 3)]
    await _restore(made, backup, "one", "two")
    await made.write("one", 3)
    results = await made.run_pass("next", settings=UNMERGED)
    assert [result.failure for result in results] == ["", ""]
    assert made.ranges("one") == [(0, 1), (2, 4)]
    await _require_table_equals_log(made, "one")
    await _require_table_equals_log(made, "two")
    assert not await _is_begun(made, "one")
    assert not await _is_begun(made, "two")


@simulated
async def test_files_that_were_merged_after_the_backup_are_in_the_table_again(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    for _ in range(3):
        await made.run_pass(settings=UNMERGED)
        await made.write("one")
    await made.run_pass(settings=UNMERGED)
    backup = await _backup(rig)
    await made.run_pass("merging")
    assert len(made.ranges("one")) == 1
    await _restore(made, backup, "one")
    await made.run_pass("next", settings=UNMERGED)
    assert made.ranges("one") == [(0, 1), (2, 3), (4, 5), (6, 7)]
    await _require_table_equals_log(made, "one")


@pytest.mark.parametrize("step", ["_commit", "_swap"])
def test_job_that_was_in_progress_is_done_again(monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """The backup was made between the job's steps, and then the job was completed."""

    @simulated
    async def body(rig: Rig) -> None:
        made = await compactor_rig(rig, "one")
        await made.run_pass(settings=UNMERGED)
        await made.write("one")

        async def crash(*_: object) -> None:
            raise Unavailable("crashed here")

        with monkeypatch.context() as patched:
            patched.setattr(Publisher, step, crash)
            await made.run_pass("dying", settings=UNMERGED)
        stored = await JobStore(rig.meta, 1).load(made.stream("one"))
        assert stored is not None
        assert stored.job.state is (JobState.WRITTEN if step == "_commit" else JobState.PUBLISHED)
        backup = await _backup(rig)
        await made.run_pass(settings=UNMERGED)
        await made.write("one")
        await made.run_pass(settings=UNMERGED)
        await _restore(made, backup, "one")
        await made.run_pass("next", settings=UNMERGED)
        assert made.ranges("one") == [(0, 1), (2, 3)]
        await _require_table_equals_log(made, "one")

    body()


@simulated
async def test_files_of_other_engines_stay(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass()
    backup = await _backup(rig)
    foreign = LiveFile("elsewhere/rows.parquet", 10, 2, 0, None, None)
    made.catalog.external_commit(made.table("one"), [], [foreign])
    await _restore(made, backup, "one")
    await made.run_pass("next")
    assert foreign in made.catalog.current(made.table("one")).files


@simulated
async def test_topic_that_never_had_a_table_gets_none(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    made.compaction.bad[made.stream("one")] = "not now"
    await _restore(made, await _backup(rig), "one")
    created: list[object] = []
    made.catalog.create_if_missing = lambda *given: created.append(given)  # type: ignore[method-assign]
    assert not await _is_created_by_rebuild(made, created)
    assert not await _is_begun(made, "one")


async def _is_created_by_rebuild(made: CompactorRig, created: list[object]) -> bool:
    compactor, leases = made.compactor("next")
    await compactor._maintenance.before_round(made.found("one"), None)
    await leases.close()
    return bool(created)


def test_interrupted_removal_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rebuild, "FILES_AT_ONCE", 1)

    @simulated
    async def body(rig: Rig) -> None:
        made = await compactor_rig(rig, "one")
        for _ in range(3):
            await made.run_pass(settings=UNMERGED)
            await made.write("one")
        await made.run_pass(settings=UNMERGED)
        backup = await _backup(rig)
        await made.run_pass("merging")
        await _restore(made, backup, "one")
        (result,) = await made.run_pass("dying", ScriptedFaults("append", [None, "refuse"]), UNMERGED)
        assert "refuse" in result.failure
        assert await _is_begun(made, "one")
        await made.run_pass("next", settings=UNMERGED)
        await _require_table_equals_log(made, "one")
        assert not await _is_begun(made, "one")

    body()


@simulated
async def test_files_that_a_table_may_reference_are_not_swept_before_the_table_is_rebuilt(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=UNMERGED)
    backup = await _backup(rig)
    await made.write("one")
    await made.run_pass(settings=UNMERGED)
    ahead = {file.path for file in made.catalog.current(made.table("one")).files}
    await _restore(made, backup, "one")
    await rig.settle(100)
    sweep = FileSweep(
        rig.meta, ControlledObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=50_000
    )
    assert await sweep.run_strays() == 0
    assert ahead <= set(rig.paths())
    await made.run_pass("next", settings=UNMERGED)
    await rig.settle(100)
    assert await sweep.run_strays() == 1
    assert {file.path for file in made.catalog.current(made.table("one")).files} <= set(rig.paths())


@simulated
async def test_altered_table_is_rebuilt_once_that_is_undone(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=UNMERGED)
    backup = await _backup(rig)
    await made.write("one")
    await made.run_pass(settings=UNMERGED)
    await _restore(made, backup, "one")
    await made.write("one", 3)
    made.catalog.external_alter(made.table("one"), "a column was dropped")
    (result,) = await made.run_pass("next", settings=UNMERGED)
    assert "a column was dropped" in result.failure
    assert await _is_begun(made, "one")
    made.catalog.external_alter(made.table("one"), None)
    await rig.settle(60)
    await made.run_pass("next", settings=UNMERGED)
    await _require_table_equals_log(made, "one")
    assert not await _is_begun(made, "one")


@simulated
async def test_topic_that_is_deleted_before_its_rebuild_does_not_keep_strays(rig: Rig) -> None:
    """Its table is dropped first: until then the table may reference them."""
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass(settings=UNMERGED)
    backup = await _backup(rig)
    await made.write("one")
    await made.run_pass(settings=UNMERGED)
    await _restore(made, backup, "one", "two")
    key, table = rebuild_key(made.found("one").topic_id), made.table("one")
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    sweep = FileSweep(
        rig.meta, ControlledObjects(rig.bucket), DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=50_000
    )
    made.catalog.external_damage(table, "its metadata cannot be read")
    await made.run_pass("first", settings=UNMERGED)
    assert not await _is_begun(made, "two")
    await rig.settle(100)
    assert await sweep.run_strays() == 0
    assert await rig.meta.get(CLUSTER_DOMAIN, key) is not None
    made.catalog.external_damage(table, None)
    await made.run_pass("second", settings=UNMERGED)
    assert table not in made.catalog.listing()
    assert await rig.meta.get(CLUSTER_DOMAIN, key) is None
    assert await sweep.run_strays() == 1


def test_record_of_an_older_dray_is_a_plain_rebuild() -> None:
    assert not msgspec.msgpack.decode(msgspec.msgpack.encode(["b1", "id", 3]), type=Rebuild).after_restore


@simulated
async def test_compactor_that_must_not_continue_changes_no_table(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    compactor, _ = made.compactor()

    async def superseded() -> None:
        raise Unavailable("superseded")

    compactor._before_pass = superseded
    with pytest.raises(Unavailable, match="superseded"):
        await anext(compactor.run_pass())
    assert list(made.catalog.listing()) == []
