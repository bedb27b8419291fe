"""Snapshot expiry, and deletion of unreferenced files in table folders; everything else is kept."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec

from dray.compaction.job_store import JobStore
from dray.index import JobState
from dray.maintenance.table_files import table_files
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectInfo
from dray.runtime import SystemClock
from dray.sweep.files import FileSweep
from dray.tables.names import external_data_folder, metadata_folder, spare_folder, table_folder
from dray.tables.port import Listing, LiveFile, RequestRejected, TableDamaged, TopicTable
from dray.testing.memory_tables import ScriptedFaults
from tests.compaction.passes import CompactorRig, compactor_rig, maintenance_of
from tests.compaction.rounds import EAGER
from tests.log.builders import DOMAIN, Rig, simulated

_SETTINGS = msgspec.structs.replace(
    EAGER,
    snapshot_age_ms_max=60_000,
    snapshot_expiry_commits=3,
    merge_files_min=1_000,
    table_orphan_ttl_ms=3_600_000,
    table_sweep_interval_ms=1_800_000,
)
_OLD_S = 3_601


def _snapshots(made: CompactorRig, topic: str) -> int:
    reached = made.catalog.reachable(made.table(topic))
    return len([path for path in reached if path.startswith(metadata_folder(table_folder(topic)))])


async def _commits(made: CompactorRig, count: int, topic: str = "one", pause_s: float = 0.0) -> list[int]:
    """Make `count` commits; returns the number of snapshots after each."""
    seen = []
    for _ in range(count):
        await made.write(topic, 1)
        await made.run_pass(settings=_SETTINGS)
        seen.append(_snapshots(made, topic))
        await made.rig.settle(pause_s)
    return seen


async def _write_and_run(made: CompactorRig) -> None:
    """Run a pass that has something to commit."""
    await made.write("one", 1)
    await made.run_pass(settings=_SETTINGS)


async def _age_and_run(made: CompactorRig) -> None:
    """Run a pass once all that there is now is old enough to be deleted."""
    await made.rig.settle(_OLD_S)
    await made.run_pass(settings=_SETTINGS)


@simulated
async def test_old_snapshots_expire_after_a_number_of_commits(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    assert await _commits(made, 4) == [1, 2, 3, 4]
    await rig.settle(61)
    assert await _commits(made, 6, pause_s=61) == [5, 6, 2, 3, 4, 2]
    assert made.counted("expired_snapshots_total") == 8
    assert len(made.ranges("one")) == 10


@simulated
async def test_metadata_of_expired_snapshots_is_deleted(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    made.catalog.create_if_missing(made.table("one"), table_folder("one"))
    for number in range(1, 5):
        rig.bucket.put_new(f"{metadata_folder(table_folder('one'))}snap-{number}.avro", [b"x"])
    await _commits(made, 4, pause_s=61)
    left = [path for path in rig.paths() if path.startswith("iceberg/")]
    assert left == sorted(
        path for path in made.catalog.reachable(made.table("one")) if path.startswith("iceberg/")
    )
    assert made.counted("swept_table_files_total") == 2


@simulated
async def test_old_orphan_metadata_is_deleted(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    made.catalog.create_if_missing(made.table("one"), table_folder("one"))
    folder = metadata_folder(table_folder("one"))
    orphan, kept = f"{folder}orphan-m0.avro", f"{folder}version-hint.text"
    elsewhere = f"{metadata_folder(table_folder('theirs'))}orphan-m0.avro"
    rig.bucket.put_new(orphan, [b"x"])
    rig.bucket.put_new(kept, [b"x"])
    rig.bucket.put_new(elsewhere, [b"x"])
    rig.bucket.put_new(f"{folder}snap-1.avro", [b"x"])
    await made.run_pass(settings=_SETTINGS)
    assert {orphan, kept} <= set(rig.paths())
    await rig.settle(_OLD_S)
    data = [path for path in rig.paths() if path.endswith(".parquet")]
    await _write_and_run(made)
    paths = set(rig.paths())
    assert orphan not in paths
    assert {kept, elsewhere, *data} <= paths


@simulated
async def test_old_unreferenced_data_files_of_other_engines_are_deleted(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    (ours,) = await made.files("one")
    named, written_otherwise, unnamed, deletes = (
        f"{external_data_folder(table_folder('one'))}partition=0/{name}"
        for name in ("named.parquet", "s3a.parquet", "unnamed.parquet", "deletes.puffin")
    )
    for path in (
        named,
        written_otherwise,
        unnamed,
        deletes,
        f"{external_data_folder(table_folder('one'))}notes.txt",
    ):
        rig.bucket.put_new(path, [b"x"])
    theirs = [LiveFile(path, 1, 1, 0, 0, 0) for path in (named, f"s3a://bucket/{written_otherwise}")]
    made.catalog.external_commit(made.table("one"), [], theirs)
    await _write_and_run(made)
    assert {unnamed, deletes} <= set(rig.paths())
    await rig.settle(_OLD_S)
    await _write_and_run(made)
    assert {path for path in rig.paths() if path.startswith(external_data_folder(table_folder("one")))} == {
        named,
        written_otherwise,
        f"{external_data_folder(table_folder('one'))}notes.txt",
    }
    assert ours.path in rig.paths()
    made.catalog.external_commit(made.table("one"), [named], [])
    await _write_and_run(made)
    assert named in rig.paths()
    await _age_and_run(made)  # the table has become idle
    assert named not in rig.paths()


@simulated
async def test_referenced_data_file_in_the_metadata_folder_is_kept(rig: Rig) -> None:
    """As with the table property `write.data.path`."""
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    theirs = f"{metadata_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    made.catalog.external_commit(made.table("one"), [], [LiveFile(theirs, 1, 1, 0, 0, 0)])
    for _ in range(2):
        await _age_and_run(made)
    assert theirs in rig.paths()


@simulated
async def test_folder_shared_by_two_tables_is_not_swept(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    left = f"{external_data_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(left, [b"x"])
    made.catalog.external_register(made.table("one"), "dray.copy")
    for _ in range(2):
        await _age_and_run(made)
    assert left in rig.paths()
    made.catalog.external_drop_other("dray.copy")
    await _age_and_run(made)
    assert left not in rig.paths()


@simulated
async def test_table_dropped_during_a_sweep_is_swept_later(rig: Rig) -> None:
    """The listing of the catalog may be older than the record of the drop."""
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    table = made.table("one")
    slow = maintenance_of(made.compactor("slow", settings=_SETTINGS)[0])._deleted_topics
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    before = made.catalog.listing()

    async def overtaken() -> Listing:
        if table in made.catalog.listing():
            await made.run_pass(settings=msgspec.structs.replace(_SETTINGS, table_sweep_interval_ms=1 << 60))
        return before

    slow._deps.tables.listing = overtaken  # type: ignore[method-assign]
    assert await slow.sweep_files() == 0
    await rig.settle(_OLD_S)
    await made.run_pass("next", settings=_SETTINGS)
    assert left not in rig.paths()


@simulated
async def test_table_created_in_the_folder_of_a_dropped_one_keeps_its_files(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    slow = msgspec.structs.replace(_SETTINGS, table_sweep_interval_ms=86_400_000)
    compactor, _ = made.compactor("slow", settings=slow)
    for _ in range(2):  # the second finds nothing to sweep, and skips the listing
        _ = [result async for result in compactor.run_pass()]
    await rig.settle(1)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])  # of a later topic's table, renamed since into another namespace
    for _ in range(2):
        await _age_and_run(made)
    assert left in rig.paths()


@simulated
async def test_files_of_a_commit_in_progress_are_kept(rig: Rig) -> None:
    """The folder is listed before the table is read: files written in between are not deleted."""
    made = await compactor_rig(rig, "one")
    made.catalog.create_if_missing(made.table("one"), table_folder("one"))
    folder = metadata_folder(table_folder("one"))
    rig.bucket.put_new(f"{folder}snap-1.avro", [b"x"])
    await made.run_pass(settings=_SETTINGS)
    await rig.settle(_OLD_S)
    compactor, _ = made.compactor("b", settings=_SETTINGS)
    maintenance = maintenance_of(compactor)
    real = maintenance._snapshot_expiry._objects

    class Slow(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            async for info in real.list(prefix, after):
                yield info
            await made.write("one", 1)
            await made.run_pass("other", settings=_SETTINGS)

    maintenance._snapshot_expiry._objects = Slow(rig.bucket)
    maintenance._snapshot_expiry.set_listing(made.catalog.listing())
    assert await maintenance._snapshot_expiry.sweep(made.table("one")) == 0
    assert _snapshots(made, "one") == 3  # it lists two folders


@simulated
async def test_renamed_table_keeps_its_files(rig: Rig) -> None:
    """Even in another namespace, where it looks dropped: its folder remains its own."""
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    table, folder = made.table("one"), table_folder("one")
    theirs = [f"{metadata_folder(folder)}snap-1.avro", f"{external_data_folder(folder)}theirs.parquet"]
    for path in theirs:
        rig.bucket.put_new(path, [b"x"])
    made.catalog.external_drop(table)
    for _ in range(3):
        await _write_and_run(made)
        assert made.catalog.folder(table).startswith("iceberg/@")
        await rig.settle(_OLD_S)
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    for _ in range(3):
        await made.run_pass(settings=_SETTINGS)
        await rig.settle(_OLD_S)
    assert [path for path in rig.paths() if path.startswith("iceberg/")] == sorted(theirs)


@simulated
async def test_table_is_not_created_in_a_folder_with_leftovers(rig: Rig) -> None:
    """Such as those of an unfinished creation, or of a table that was empty when it was renamed."""
    made = await compactor_rig(rig, "one")
    begun = f"{metadata_folder(table_folder('one'))}00000-1234.metadata.json"
    rig.bucket.put_new(begun, [b"x"])
    await made.run_pass(settings=_SETTINGS)
    assert made.catalog.folder(made.table("one")).startswith("iceberg/@")
    await _age_and_run(made)
    assert begun in rig.paths()


@simulated
async def test_table_renamed_before_a_retried_drop_keeps_its_files(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    table = made.table("one")
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    await made.run_pass("dying", ScriptedFaults("drop", ["refuse"]), settings=_SETTINGS)
    made.catalog.external_drop(table)  # it has another name, in another namespace
    for _ in range(2):
        await _age_and_run(made)
    assert left in rig.paths()


@simulated
async def test_table_renamed_during_the_sweep_of_its_folder_keeps_its_files(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    table, left = made.table("one"), f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    await rig.settle(_OLD_S)
    made.catalog.external_drop(table)  # it has another name, in another namespace
    await made.run_pass(settings=_SETTINGS)
    assert made.catalog.folder(table) != table_folder("one")
    compactor, _ = made.compactor("slow", settings=_SETTINGS)
    made.catalog.folder = lambda table: table_folder("one")  # type: ignore[method-assign]  # noqa: ARG005
    maintenance_of(compactor)._snapshot_expiry.set_listing(made.catalog.listing())
    assert await maintenance_of(compactor)._snapshot_expiry.sweep(table) == 0
    assert left in rig.paths()


@simulated
async def test_table_moved_out_of_the_store_is_not_swept(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    left = f"{external_data_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(left, [b"x"])
    made.catalog._tables["one"].folder = "s3://elsewhere/one"
    for _ in range(4):
        await rig.settle(_OLD_S)
        await made.write("one", 1)
        (result,) = await made.run_pass(settings=_SETTINGS)
        assert result.failure == ""
    assert left in rig.paths()
    assert made.counted("expired_snapshots_total") == 2
    assert made.counted("failures_total", scope="topic") == 0


async def test_table_files_skips_paths_that_the_store_refuses() -> None:
    class Odd(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            for name in ("key=a%2Fb/x.parquet", ".x.parquet", "x.parquet", "x.txt"):
                yield ObjectInfo(prefix + name, 1, 0)

    found = [info.path async for info in table_files(Odd(MemoryBucket(SystemClock())), "iceberg/topic=a")]
    assert found == [f"iceberg/topic=a/{folder}/x.parquet" for folder in ("metadata", "data")]


@simulated
async def test_dropped_tables_are_not_swept_while_a_table_is_unreadable(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    for damage in ("it was cut off", None):
        made.catalog.external_damage(made.table("two"), damage)
        await _age_and_run(made)
        assert (left in rig.paths()) == (damage is not None)


@simulated
async def test_snapshots_expire_on_a_table_that_only_other_engines_commit_to(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    for _ in range(3):
        await _age_and_run(made)
    for _ in range(4):
        made.catalog.external_commit(made.table("one"), [], [])
    assert _snapshots(made, "one") == 5
    await _age_and_run(made)
    assert _snapshots(made, "one") == 1


@simulated
async def test_folder_that_an_unreadable_table_may_share_is_not_swept(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    theirs = f"{external_data_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    table = made.table("one")
    copy = replace(made.catalog._found(table), damage="it was cut off")
    made.catalog._elsewhere["dray.copy"] = table, copy
    for damage in ("it was cut off", None):
        made.catalog.external_damage_renamed("dray.copy", damage)
        await _age_and_run(made)
        assert theirs in rig.paths()
    made.catalog.external_drop_other("dray.copy")
    await _age_and_run(made)
    assert theirs not in rig.paths()


@simulated
async def test_nothing_is_swept_before_the_first_listing(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    theirs = f"{external_data_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    made.catalog.external_register(made.table("one"), "dray.copy")
    await rig.settle(_OLD_S)
    await made.write("one", 1)
    await made.run_pass("fresh", ScriptedFaults("listing", ["refuse"]), settings=_SETTINGS)
    assert theirs in rig.paths()


@simulated
async def test_folder_that_contains_another_table_is_not_swept(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    inside = f"{external_data_folder(table_folder('one'))}other"
    theirs = f"{external_data_folder(inside)}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    table = made.table("one")
    made.catalog._elsewhere["dray.other"] = table, replace(made.catalog._found(table), folder=inside)
    await _age_and_run(made)
    assert theirs in rig.paths()


@simulated
async def test_table_is_audited_even_if_the_sweep_of_its_folder_fails(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    rig.bucket.put_new(f"{metadata_folder(table_folder('one'))}old-m0.avro", [b"x"])
    real = made.catalog.reachable

    def damaged(table: TopicTable, *, data: bool = True) -> frozenset[str]:
        if data:
            raise TableDamaged("a manifest of a tagged snapshot is missing")
        return real(table, data=data)

    made.catalog.reachable = damaged  # type: ignore[method-assign]
    (lost,) = await made.files("one")
    rig.bucket.delete(lost.path)
    await rig.settle(_OLD_S)
    await _write_and_run(made)
    assert made.counted("failures_total", scope="topic") == 1
    assert made.counted("missing_files", topic="one") == 1


@simulated
async def test_every_folder_of_a_topics_dropped_tables_is_swept(rig: Rig) -> None:
    """A compactor that has not seen the deletion may have recreated the table in another folder."""
    made = await compactor_rig(rig, "one")
    await made.run_pass(settings=_SETTINGS)
    table = made.table("one")
    left = [
        f"{metadata_folder(folder)}snap-1.avro" for folder in (table_folder("one"), spare_folder("one", "ab"))
    ]
    for path in left:
        rig.bucket.put_new(path, [b"x"])
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    await made.run_pass(settings=_SETTINGS)
    made.catalog.create_if_missing(table, spare_folder("one", "ab"))
    for _ in range(3):
        await made.run_pass(settings=_SETTINGS)
        await rig.settle(_OLD_S)
    assert not set(left) & set(rig.paths())


@simulated
async def test_catalog_that_refuses_expiry_does_not_block_rounds(rig: Rig) -> None:
    made = await compactor_rig(rig, "one")

    def refuse(*_: object) -> None:
        raise RequestRejected("only the catalog may expire snapshots")

    made.catalog.expire = refuse  # type: ignore[method-assign,assignment]
    for number in range(4):
        await made.write("one", 1)
        (result,) = await made.run_pass(settings=_SETTINGS)
        assert result.failure == ""
        assert len(made.ranges("one")) == number + 1
    assert made.counted("failures_total", scope="topic") == 1


@simulated
async def test_old_files_of_a_deleted_topics_table_are_deleted(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass(settings=_SETTINGS)
    for topic, snapshot in (("one", 1), ("two", 2), ("theirs", 3)):
        rig.bucket.put_new(f"{metadata_folder(table_folder(topic))}snap-{snapshot}.avro", [b"x"])
    rig.bucket.put_new(f"{external_data_folder(table_folder('one'))}theirs.parquet", [b"x"])
    one = made.found("one")
    await made.topic_admin.delete("one", one.topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    await made.run_pass(settings=_SETTINGS)
    assert metadata_folder(table_folder("one")) + "snap-1.avro" in rig.paths()
    await _age_and_run(made)
    left = [path for path in rig.paths() if path.startswith("iceberg/")]
    assert left == [
        metadata_folder(table_folder("theirs")) + "snap-3.avro",
        metadata_folder(table_folder("two")) + "snap-2.avro",
    ]


@simulated
async def test_job_of_a_deleted_topic_is_removed_and_its_file_swept(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass("dying", ScriptedFaults("append", ["refuse"]))
    stream = made.stream("one")
    jobs = JobStore(rig.meta, 1)
    stored = await jobs.load(stream)
    assert stored is not None
    assert stored.job.state is JobState.WRITTEN
    await made.topic_admin.delete("one", made.found("one").topic_id)
    await made.topic_admin.finish_deletions()
    await rig.settle(1)
    await made.run_pass("next")
    assert await jobs.load(stream) is None
    await rig.settle(1)
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1)
    await sweep.run_strays()
    left = {path for path in rig.paths() if path.endswith(".parquet")}
    assert left == {file.path for file in await made.files("two")}


@simulated
async def test_snapshots_of_an_idle_table_expire_once_by_age(
    rig: Rig,
) -> None:
    made = await compactor_rig(rig, "one")
    settings = msgspec.structs.replace(_SETTINGS, snapshot_expiry_commits=100)
    for _ in range(3):
        await made.run_pass(settings=settings)
        await made.write("one", 1)
    await made.run_pass(settings=settings)
    assert _snapshots(made, "one") == 4
    expiries: list[object] = []
    real = made.catalog.expire

    def counted(*how: object) -> object:
        expiries.append(how)
        return real(*how)  # type: ignore[arg-type]

    made.catalog.expire = counted  # type: ignore[method-assign,assignment]
    await rig.settle(30)
    await made.run_pass()
    assert expiries == []
    for _ in range(4):
        await rig.settle(61)
        await made.run_pass()
    assert (_snapshots(made, "one"), len(expiries)) == (1, 1)


@simulated
async def test_snapshots_of_an_earlier_process_expire_too(rig: Rig) -> None:
    made = await compactor_rig(rig, "one", "empty")
    made.compaction.bad[made.stream("empty")] = "no"
    settings = msgspec.structs.replace(_SETTINGS, snapshot_expiry_commits=100)
    await made.run_pass(settings=settings)
    await made.write("one", 1)
    await made.run_pass(settings=settings)
    await made.run_pass("next", settings=settings)
    await rig.settle(61)
    await made.run_pass("next", settings=settings)
    assert _snapshots(made, "one") == 1
    assert made.counted("failures_total", scope="topic") == 0
