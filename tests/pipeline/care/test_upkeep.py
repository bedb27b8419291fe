"""Tables stay small: old snapshots go, and the metadata that nothing names; nothing else does."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec

from dray.index import JobState
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.objects.port import ObjectInfo
from dray.pipeline.care.table_files import table_files
from dray.pipeline.job_store import JobStore
from dray.runtime import SystemClock
from dray.sweep.files import FileSweep
from dray.tables.memory import ScriptedFaults
from dray.tables.names import metadata_folder, others_folder, spare_folder, table_folder
from dray.tables.port import Listing, LiveFile, Refused, TableDamaged, TopicTable
from tests.log.builders import DOMAIN, Rig, simulated
from tests.pipeline.rounds import EAGER
from tests.pipeline.turns import Turns, turns_over

_SETTINGS = msgspec.structs.replace(
    EAGER,
    snapshot_age_ms_max=60_000,
    expire_commits=3,
    merge_files_min=1_000,
    table_orphan_ttl_ms=3_600_000,
    table_sweep_interval_ms=1_800_000,
)
_OLD_S = 3_601


def _snapshots(made: Turns, topic: str) -> int:
    reached = made.catalog.reachable(made.table(topic))
    return len([path for path in reached if path.startswith(metadata_folder(table_folder(topic)))])


async def _commits(made: Turns, count: int, topic: str = "one", pause_s: float = 0.0) -> list[int]:
    """How many snapshots there were after each of so many commits."""
    seen = []
    for _ in range(count):
        await made.write(topic, 1)
        await made.turn(settings=_SETTINGS)
        seen.append(_snapshots(made, topic))
        await made.rig.settle(pause_s)
    return seen


@simulated
async def test_snapshots_are_expired_after_some_commits_and_not_before_their_time(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    assert await _commits(made, 4) == [1, 2, 3, 4]
    await rig.settle(61)
    assert await _commits(made, 6, pause_s=61) == [5, 6, 2, 3, 4, 2]
    assert made.counted("expired_snapshots_total") == 8
    assert len(made.ranges("one")) == 10


@simulated
async def test_metadata_that_an_expired_snapshot_named_is_deleted(rig: Rig) -> None:
    made = await turns_over(rig, "one")
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
async def test_orphans_are_found_by_listing_when_they_are_old(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    made.catalog.create_if_missing(made.table("one"), table_folder("one"))
    folder = metadata_folder(table_folder("one"))
    orphan, kept = f"{folder}orphan-m0.avro", f"{folder}version-hint.text"
    elsewhere = f"{metadata_folder(table_folder('theirs'))}orphan-m0.avro"
    rig.bucket.put_new(orphan, [b"x"])
    rig.bucket.put_new(kept, [b"x"])
    rig.bucket.put_new(elsewhere, [b"x"])
    rig.bucket.put_new(f"{folder}snap-1.avro", [b"x"])
    await made.turn(settings=_SETTINGS)
    assert {orphan, kept} <= set(rig.paths())
    await rig.settle(_OLD_S)
    data = [path for path in rig.paths() if path.endswith(".parquet")]
    await made.write("one", 1)
    await made.turn(settings=_SETTINGS)
    paths = set(rig.paths())
    assert orphan not in paths
    assert {kept, elsewhere, *data} <= paths


@simulated
async def test_data_of_other_engines_goes_when_it_is_old_and_no_snapshot_names_it(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    (ours,) = await made.files("one")
    named, written_otherwise, unnamed, deletes = (
        f"{others_folder(table_folder('one'))}partition=0/{name}"
        for name in ("named.parquet", "s3a.parquet", "unnamed.parquet", "deletes.puffin")
    )
    for path in (
        named,
        written_otherwise,
        unnamed,
        deletes,
        f"{others_folder(table_folder('one'))}notes.txt",
    ):
        rig.bucket.put_new(path, [b"x"])
    theirs = [LiveFile(path, 1, 1, 0, 0, 0) for path in (named, f"s3a://bucket/{written_otherwise}")]
    made.catalog.somebody_commits(made.table("one"), [], theirs)
    await made.write("one", 1)
    await made.turn(settings=_SETTINGS)
    assert {unnamed, deletes} <= set(rig.paths())
    await rig.settle(_OLD_S)
    await made.write("one", 1)
    await made.turn(settings=_SETTINGS)
    assert {path for path in rig.paths() if path.startswith(others_folder(table_folder("one")))} == {
        named,
        written_otherwise,
        f"{others_folder(table_folder('one'))}notes.txt",
    }
    assert ours.path in rig.paths()
    made.catalog.somebody_commits(made.table("one"), [named], [])
    await made.write("one", 1)
    await made.turn(settings=_SETTINGS)
    assert named in rig.paths()
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)  # it has become idle
    assert named not in rig.paths()


@simulated
async def test_data_that_lies_with_the_metadata_is_kept_too(rig: Rig) -> None:
    """As after somebody has set `write.data.path`."""
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    theirs = f"{metadata_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    made.catalog.somebody_commits(made.table("one"), [], [LiveFile(theirs, 1, 1, 0, 0, 0)])
    for _ in range(2):
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
    assert theirs in rig.paths()


@simulated
async def test_nothing_is_deleted_in_a_folder_that_two_tables_have(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    left = f"{others_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(left, [b"x"])
    made.catalog.somebody_registers(made.table("one"), "dray.copy")
    for _ in range(2):
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
    assert left in rig.paths()
    made.catalog.somebody_drops_other("dray.copy")
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    assert left not in rig.paths()


@simulated
async def test_a_table_dropped_while_others_are_swept_is_swept_later(rig: Rig) -> None:
    """The look at the catalogue may be older than the record of the drop."""
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    table, slow = made.table("one"), made.compactor("slow", settings=_SETTINGS)[0]._care._departed
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    before = made.catalog.listing()

    async def overtaken() -> Listing:
        if table in made.catalog.listing():
            await made.turn(settings=msgspec.structs.replace(_SETTINGS, table_sweep_interval_ms=1 << 60))
        return before

    slow._parts.tables.listing = overtaken  # type: ignore[method-assign]
    assert await slow.sweep_files() == 0
    await rig.settle(_OLD_S)
    await made.turn("next", settings=_SETTINGS)
    assert left not in rig.paths()


@simulated
async def test_a_table_made_where_one_was_dropped_keeps_its_files(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    slow = msgspec.structs.replace(_SETTINGS, table_sweep_interval_ms=86_400_000)
    compactor, _ = made.compactor("slow", settings=slow)
    for _ in range(2):  # the second finds nothing to sweep, and does not look
        _ = [turn async for turn in compactor.turn()]
    await rig.settle(1)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])  # a namesake's, which has got another name since, in another namespace
    for _ in range(2):
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
    assert left in rig.paths()


@simulated
async def test_what_a_commit_under_way_has_written_is_left(rig: Rig) -> None:
    """The listing comes before the look at the table: what comes in between is not deleted."""
    made = await turns_over(rig, "one")
    made.catalog.create_if_missing(made.table("one"), table_folder("one"))
    folder = metadata_folder(table_folder("one"))
    rig.bucket.put_new(f"{folder}snap-1.avro", [b"x"])
    await made.turn(settings=_SETTINGS)
    await rig.settle(_OLD_S)
    compactor, _ = made.compactor("b", settings=_SETTINGS)
    care = compactor._care
    assert care is not None
    real = care._upkeep._objects

    class Slow(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            async for info in real.list(prefix, after):
                yield info
            await made.write("one", 1)
            await made.turn("other", settings=_SETTINGS)

    care._upkeep._objects = Slow(rig.bucket)
    care._upkeep.see(made.catalog.listing())
    assert await care._upkeep.sweep(made.table("one")) == 0
    assert _snapshots(made, "one") == 3  # it lists two folders


@simulated
async def test_a_table_that_somebody_has_renamed_keeps_its_files(rig: Rig) -> None:
    """Even in another namespace, where it looks as if it were dropped: its folder is its own."""
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    table, folder = made.table("one"), table_folder("one")
    theirs = [f"{metadata_folder(folder)}snap-1.avro", f"{others_folder(folder)}theirs.parquet"]
    for path in theirs:
        rig.bucket.put_new(path, [b"x"])
    made.catalog.somebody_drops(table)
    for _ in range(3):
        await made.write("one", 1)
        await made.turn(settings=_SETTINGS)
        assert made.catalog.folder(table).startswith("iceberg/@")
        await rig.settle(_OLD_S)
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    for _ in range(3):
        await made.turn(settings=_SETTINGS)
        await rig.settle(_OLD_S)
    assert [path for path in rig.paths() if path.startswith("iceberg/")] == sorted(theirs)


@simulated
async def test_a_table_is_not_made_where_something_is_left(rig: Rig) -> None:
    """Such as by a creation that was never finished, or by a table that was empty when it was renamed."""
    made = await turns_over(rig, "one")
    begun = f"{metadata_folder(table_folder('one'))}00000-1234.metadata.json"
    rig.bucket.put_new(begun, [b"x"])
    await made.turn(settings=_SETTINGS)
    assert made.catalog.folder(made.table("one")).startswith("iceberg/@")
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    assert begun in rig.paths()


@simulated
async def test_a_table_renamed_when_it_was_to_be_dropped_keeps_its_files(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    table = made.table("one")
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    await made.turn("dying", ScriptedFaults("drop", ["refuse"]), settings=_SETTINGS)
    made.catalog.somebody_drops(table)  # it has another name, in another namespace
    for _ in range(2):
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
    assert left in rig.paths()


@simulated
async def test_a_table_renamed_while_its_folder_is_looked_through_keeps_its_files(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    table, left = made.table("one"), f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    await rig.settle(_OLD_S)
    made.catalog.somebody_drops(table)  # it has another name, in another namespace
    await made.turn(settings=_SETTINGS)
    assert made.catalog.folder(table) != table_folder("one")
    compactor, _ = made.compactor("slow", settings=_SETTINGS)
    made.catalog.folder = lambda table: table_folder("one")  # type: ignore[method-assign]  # noqa: ARG005
    compactor._care._upkeep.see(made.catalog.listing())
    assert await compactor._care._upkeep.sweep(table) == 0
    assert left in rig.paths()


@simulated
async def test_nothing_is_swept_of_a_table_that_somebody_has_put_elsewhere(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    left = f"{others_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(left, [b"x"])
    made.catalog._tables["one"].folder = "s3://elsewhere/one"
    for _ in range(4):
        await rig.settle(_OLD_S)
        await made.write("one", 1)
        (turn,) = await made.turn(settings=_SETTINGS)
        assert turn.failure == ""
    assert left in rig.paths()
    assert made.counted("expired_snapshots_total") == 2
    assert made.counted("failures_total", what="topic") == 0


async def test_what_has_no_legal_path_is_not_among_a_table_s_files() -> None:
    class Odd(MemoryObjects):
        async def list(self, prefix: str, after: str = "") -> AsyncIterator[ObjectInfo]:
            for name in ("key=a%2Fb/x.parquet", ".x.parquet", "x.parquet", "x.txt"):
                yield ObjectInfo(prefix + name, 1, 0)

    found = [info.path async for info in table_files(Odd(MemoryBucket(SystemClock())), "iceberg/topic=a")]
    assert found == [f"iceberg/topic=a/{folder}/x.parquet" for folder in ("metadata", "data")]


@simulated
async def test_nothing_of_dropped_tables_is_swept_while_there_is_one_that_cannot_be_read(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn(settings=_SETTINGS)
    left = f"{metadata_folder(table_folder('one'))}snap-1.avro"
    rig.bucket.put_new(left, [b"x"])
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    for damage in ("it was cut off", None):
        made.catalog.somebody_damages(made.table("two"), damage)
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
        assert (left in rig.paths()) == (damage is not None)


@simulated
async def test_a_table_that_only_others_commit_to_is_looked_after_too(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    for _ in range(3):
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
    for _ in range(4):
        made.catalog.somebody_commits(made.table("one"), [], [])
    assert _snapshots(made, "one") == 5
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    assert _snapshots(made, "one") == 1


@simulated
async def test_while_a_table_cannot_be_read_that_may_have_a_folder_too_it_is_left_alone(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    theirs = f"{others_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    table = made.table("one")
    copy = replace(made.catalog._found(table), damage="it was cut off")
    made.catalog._elsewhere["dray.copy"] = table, copy
    for damage in ("it was cut off", None):
        made.catalog.somebody_damages_renamed("dray.copy", damage)
        await rig.settle(_OLD_S)
        await made.turn(settings=_SETTINGS)
        assert theirs in rig.paths()
    made.catalog.somebody_drops_other("dray.copy")
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    assert theirs not in rig.paths()


@simulated
async def test_nothing_is_swept_before_it_is_known_where_tables_are(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    theirs = f"{others_folder(table_folder('one'))}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    made.catalog.somebody_registers(made.table("one"), "dray.copy")
    await rig.settle(_OLD_S)
    await made.write("one", 1)
    await made.turn("fresh", ScriptedFaults("listing", ["refuse"]), settings=_SETTINGS)
    assert theirs in rig.paths()


@simulated
async def test_a_folder_with_another_table_inside_is_left_alone(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    inside = f"{others_folder(table_folder('one'))}other"
    theirs = f"{others_folder(inside)}theirs.parquet"
    rig.bucket.put_new(theirs, [b"x"])
    table = made.table("one")
    made.catalog._elsewhere["dray.other"] = table, replace(made.catalog._found(table), folder=inside)
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    assert theirs in rig.paths()


@simulated
async def test_a_table_whose_folder_cannot_be_swept_is_audited_all_the_same(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    rig.bucket.put_new(f"{metadata_folder(table_folder('one'))}old-m0.avro", [b"x"])
    real = made.catalog.reachable

    def damaged(table: TopicTable, *, data: bool = True) -> frozenset[str]:
        if data:
            raise TableDamaged("a manifest of a tagged snapshot is gone")
        return real(table, data=data)

    made.catalog.reachable = damaged  # type: ignore[method-assign]
    (lost,) = await made.files("one")
    rig.bucket.delete(lost.path)
    await rig.settle(_OLD_S)
    await made.write("one", 1)
    await made.turn(settings=_SETTINGS)
    assert made.counted("failures_total", what="topic") == 1
    assert made.counted("missing_files", topic="one") == 1


@simulated
async def test_each_folder_of_a_topic_s_dropped_tables_is_swept(rig: Rig) -> None:
    """A compactor that has not heard of the deletion may have made the table again, elsewhere."""
    made = await turns_over(rig, "one")
    await made.turn(settings=_SETTINGS)
    table = made.table("one")
    left = [
        f"{metadata_folder(folder)}snap-1.avro" for folder in (table_folder("one"), spare_folder("one", "ab"))
    ]
    for path in left:
        rig.bucket.put_new(path, [b"x"])
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    await made.turn(settings=_SETTINGS)
    made.catalog.create_if_missing(table, spare_folder("one", "ab"))
    for _ in range(3):
        await made.turn(settings=_SETTINGS)
        await rig.settle(_OLD_S)
    assert not set(left) & set(rig.paths())


@simulated
async def test_a_catalogue_that_expires_nothing_holds_up_no_round(rig: Rig) -> None:
    made = await turns_over(rig, "one")

    def refuse(*_: object) -> None:
        raise Refused("expiring is for the catalogue itself")

    made.catalog.expire = refuse  # type: ignore[method-assign,assignment]
    for number in range(4):
        await made.write("one", 1)
        (turn,) = await made.turn(settings=_SETTINGS)
        assert turn.failure == ""
        assert len(made.ranges("one")) == number + 1
    assert made.counted("failures_total", what="topic") == 1


@simulated
async def test_the_files_of_a_deleted_topics_table_go_when_they_are_old(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn(settings=_SETTINGS)
    for topic, snapshot in (("one", 1), ("two", 2), ("theirs", 3)):
        rig.bucket.put_new(f"{metadata_folder(table_folder(topic))}snap-{snapshot}.avro", [b"x"])
    rig.bucket.put_new(f"{others_folder(table_folder('one'))}theirs.parquet", [b"x"])
    one = made.found("one")
    await made.topics.delete("one", one.topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    await made.turn(settings=_SETTINGS)
    assert metadata_folder(table_folder("one")) + "snap-1.avro" in rig.paths()
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    left = [path for path in rig.paths() if path.startswith("iceberg/")]
    assert left == [
        metadata_folder(table_folder("theirs")) + "snap-3.avro",
        metadata_folder(table_folder("two")) + "snap-2.avro",
    ]


@simulated
async def test_a_job_of_a_deleted_topic_is_forgotten_and_the_sweep_has_its_file(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn("dying", ScriptedFaults("append", ["refuse"]))
    stream = made.stream("one")
    jobs = JobStore(rig.meta, 1)
    stored = await jobs.load(stream)
    assert stored is not None
    assert stored.job.state is JobState.WRITTEN
    await made.topics.delete("one", made.found("one").topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    await made.turn("next")
    assert await jobs.load(stream) is None
    await rig.settle(1)
    objects = MemoryObjects(rig.bucket)
    sweep = FileSweep(rig.meta, objects, DOMAIN, domains=1, clock=rig.clock, orphan_ttl_ms=1)
    await sweep.run_strays()
    left = {path for path in rig.paths() if path.endswith(".parquet")}
    assert left == {file.path for file in await made.files("two")}


@simulated
async def test_snapshots_of_a_table_that_became_idle_expire_by_time_and_it_is_looked_at_once(
    rig: Rig,
) -> None:
    made = await turns_over(rig, "one")
    settings = msgspec.structs.replace(_SETTINGS, expire_commits=100)
    for _ in range(3):
        await made.turn(settings=settings)
        await made.write("one", 1)
    await made.turn(settings=settings)
    assert _snapshots(made, "one") == 4
    looked: list[object] = []
    real = made.catalog.expire

    def counted(*how: object) -> object:
        looked.append(how)
        return real(*how)  # type: ignore[arg-type]

    made.catalog.expire = counted  # type: ignore[method-assign,assignment]
    await rig.settle(30)
    await made.turn()
    assert looked == []
    for _ in range(4):
        await rig.settle(61)
        await made.turn()
    assert (_snapshots(made, "one"), len(looked)) == (1, 1)


@simulated
async def test_what_a_process_before_left_expires_too(rig: Rig) -> None:
    made = await turns_over(rig, "one", "empty")
    made.compaction.bad[made.stream("empty")] = "no"
    settings = msgspec.structs.replace(_SETTINGS, expire_commits=100)
    await made.turn(settings=settings)
    await made.write("one", 1)
    await made.turn(settings=settings)
    await made.turn("next", settings=settings)
    await rig.settle(61)
    await made.turn("next", settings=settings)
    assert _snapshots(made, "one") == 1
    assert made.counted("failures_total", what="topic") == 0
