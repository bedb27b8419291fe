"""Tables stay small: old snapshots go, and the metadata that nothing names; nothing else does."""

from collections.abc import AsyncIterator

import msgspec

from dray.index import JobState
from dray.objects.memory import MemoryObjects
from dray.objects.port import ObjectInfo
from dray.pipeline.job_store import JobStore
from dray.sweep.files import FileSweep
from dray.tables.memory import ScriptedFaults
from dray.tables.names import metadata_folder
from dray.tables.port import Refused
from tests.log.builders import DOMAIN, Rig, simulated
from tests.pipeline.rounds import EAGER
from tests.pipeline.turns import Turns, turns_over

_SETTINGS = msgspec.structs.replace(
    EAGER,
    snapshot_age_ms_max=60_000,
    expire_commits=3,
    merge_files_min=1_000,
    metadata_orphan_ttl_ms=3_600_000,
    metadata_sweep_interval_ms=1_800_000,
)
_OLD_S = 3_601


def _snapshots(made: Turns, topic: str) -> int:
    reached = made.catalog.reachable(made.table(topic))
    return len([path for path in reached if path.startswith(metadata_folder(topic))])


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
    for number in range(1, 5):
        rig.bucket.put_new(f"{metadata_folder('one')}snap-{number}.avro", [b"x"])
    await _commits(made, 4, pause_s=61)
    left = [path for path in rig.paths() if path.startswith("iceberg/")]
    assert left == sorted(
        path for path in made.catalog.reachable(made.table("one")) if path.startswith("iceberg/")
    )
    assert made.counted("swept_metadata_files_total") == 2


@simulated
async def test_orphans_are_found_by_listing_when_they_are_old(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    folder = metadata_folder("one")
    orphan, kept = f"{folder}orphan-m0.avro", f"{folder}version-hint.text"
    elsewhere = f"{metadata_folder('two')}orphan-m0.avro"
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
async def test_what_a_commit_under_way_has_written_is_left(rig: Rig) -> None:
    """The listing comes before the look at the table: what comes in between is not deleted."""
    made = await turns_over(rig, "one")
    folder = metadata_folder("one")
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
    assert await care._upkeep.sweep(made.table("one")) == 0
    assert _snapshots(made, "one") == 2


@simulated
async def test_an_idle_table_is_not_looked_at(rig: Rig) -> None:
    made = await turns_over(rig, "one")
    await _commits(made, 1)
    before = made.catalog.current(made.table("one"))
    for _ in range(5):
        await rig.settle(_OLD_S)
        await made.turn()
    assert made.catalog.current(made.table("one")) == before


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
async def test_the_metadata_of_a_deleted_topics_table_goes_when_it_is_old(rig: Rig) -> None:
    made = await turns_over(rig, "one", "two")
    await made.turn(settings=_SETTINGS)
    for topic in ("one", "two", "theirs"):
        rig.bucket.put_new(f"{metadata_folder(topic)}snap-1.avro", [b"x"])
    one = made.found("one")
    await made.topics.delete("one", one.topic_id)
    await made.topics.finish_deletions()
    await rig.settle(1)
    await made.turn(settings=_SETTINGS)
    assert metadata_folder("one") + "snap-1.avro" in rig.paths()
    await rig.settle(_OLD_S)
    await made.turn(settings=_SETTINGS)
    left = [path for path in rig.paths() if path.startswith("iceberg/")]
    assert left == [metadata_folder(topic) + "snap-1.avro" for topic in ("theirs", "two")]


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
