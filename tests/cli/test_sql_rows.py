"""Rows of `dray sql` while the log moves under it: compaction, sweeps, damage, S3, more than memory holds."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dray.cli.access import cluster_access, storage_access
from dray.cli.settings import DraySettings
from dray.log import LogDamaged
from dray.objects.port import NotFound
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.reading.stretches import Stretch
from dray.pipeline.sql import engine, hot
from dray.pipeline.sql.errors import RowsMoved
from dray.pipeline.sql.rows import pages
from dray.pipeline.sql.snapshot import bounds_of, stretches_of
from dray.pipeline.sql.views import TopicRows
from tests.cli.calling import call, new_topic
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.compaction_here import compact, settings_of
from tests.cli.test_sql import produce


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("rows")) as running:
        yield running


def ask(settings: DraySettings, query: str) -> list[tuple[object, ...]]:
    with engine.answering(cluster_access(settings), storage_access(settings), query) as results:
        return [row for result in results for page in pages(result) for row in page]


def offsets(topic: str) -> str:
    return f'SELECT partition, "offset" FROM "{topic}" ORDER BY ALL'


@pytest.mark.slow
def test_no_gap_and_no_repeat_while_all_is_moving(cluster: FileCluster) -> None:
    """Queries beside a producer and a compactor: each sees a beginning of every partition, without holes."""
    topic, settings = new_topic(cluster.kafka, partitions=2), settings_of(cluster)
    merging = settings_of(cluster, {"compaction.merge_files_min": "2"})
    produce(cluster, topic, 0, 10)

    still_moving = threading.Event()
    still_moving.set()

    def look() -> list[int]:
        seen = []
        while still_moving.is_set():
            found = ask(settings, offsets(topic))
            for partition in (0, 1):
                of_it = [offset for number, offset in found if number == partition]
                assert of_it == list(range(len(of_it)))
            seen.append(len(found))
        return seen

    with ThreadPoolExecutor(1) as threads:
        looking = threads.submit(look)
        for number in range(1, 7):
            produce(cluster, topic, number * 10, 10)
            compact(merging if number % 2 else settings, topic)
        still_moving.clear()
        seen = looking.result()
    assert seen == sorted(seen)
    assert seen
    assert len(ask(settings, offsets(topic))) == 70


def test_statements_of_one_call_see_the_same(cluster: FileCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    produce(cluster, topic, 0, 5)
    count = f'SELECT count(*) FROM "{topic}";'
    with engine.answering(cluster_access(settings), storage_access(settings), count * 2) as results:
        counted = []
        for result in results:
            counted += [row for page in pages(result) for row in page]
            produce(cluster, topic, 5, 5)
    assert counted == [(5,), (5,)]


def planned_before_compaction(
    cluster: FileCluster, topic: str, monkeypatch: pytest.MonkeyPatch, *, produced: int = 0
) -> list[int]:
    """Let compaction and the sweep pass by between the plan of the next query and its first read."""
    settings, moves = settings_of(cluster, {"log.wal_gc_grace_ms": "0"}), [0]
    unmoved = TopicRows

    def moved(*arguments: object) -> object:
        if not moves[0]:
            moves[0] = 1
            if produced:
                produce(cluster, topic, 20, produced)
            compact(settings, topic)
            for path in cluster.objects:
                path.unlink()
        return unmoved(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "TopicRows", moved)
    return moves


def test_rows_that_moved_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 20)
        moves = planned_before_compaction(cluster, topic, monkeypatch)
        assert [offset for _, offset in ask(settings, offsets(topic))] == list(range(20))
        assert moves == [1]


def test_offsets_stay_those_of_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that compaction wrote meanwhile may reach beyond the query's end; those rows are not shown."""
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 20)
        moves = planned_before_compaction(cluster, topic, monkeypatch, produced=7)
        assert [offset for _, offset in ask(settings, offsets(topic))] == list(range(20))
        assert moves == [1]
        monkeypatch.undo()
        assert len(ask(settings, offsets(topic))) == 27


def test_an_object_that_is_gone_for_good_is_named(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 5)
        [wal] = cluster.objects
        wal.unlink()
        with pytest.raises(LogDamaged, match=rf"offsets 0 to 4.*{wal.name}.*there is no such object"):
            ask(settings, offsets(topic))
        called = call("sql", offsets(topic), *cluster.flags)
        assert called.code == 1
        assert wal.name in called.err
        assert called.err.count("\n") == 1


def test_a_file_that_is_gone_for_good_is_named(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 5)
        compact(settings, topic)
        [file] = cluster.data_dir.rglob("*.parquet")
        file.unlink()
        with pytest.raises(LogDamaged, match=rf"offsets 0 to 4.*{file.name}.*there is no such object"):
            ask(settings, offsets(topic))


@pytest.mark.parametrize("place", ["footer", "page", "end"])
def test_a_damaged_file_is_an_error_and_no_crash(tmp_path: Path, place: str) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 500)
        compact(settings, topic)
        [file] = cluster.data_dir.rglob("*.parquet")
        data = bytearray(file.read_bytes())
        if place == "end":
            del data[-100:]
        else:
            data[-100 if place == "footer" else 200] ^= 0xFF
        file.write_bytes(data)
        with pytest.raises(LogDamaged, match=rf"offsets 0 to 499.*{file.name}") as failure:
            ask(settings, f'SELECT * FROM "{topic}"')
        assert "\n" not in str(failure.value)


def test_damaged_wal_is_an_error(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 50)
        [wal] = cluster.objects
        data = bytearray(wal.read_bytes())
        data[len(data) // 2] ^= 0xFF
        wal.write_bytes(data)
        with pytest.raises(LogDamaged, match="is damaged"):
            ask(settings, offsets(topic))


def test_only_what_is_asked_for_is_read(cluster: FileCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Topics that a query does not name are not opened, and files that cannot hold a row are not read."""
    topic, other, settings = (
        new_topic(cluster.kafka, partitions=2),
        new_topic(cluster.kafka),
        settings_of(cluster),
    )
    for number in range(3):
        produce(cluster, topic, number * 10, 10, "--partition=0")
        produce(cluster, topic, number * 10, 10, "--partition=1")
        compact(settings, topic)
    produce(cluster, other, 0, 5)
    read: list[str] = []
    whole = BlockingStore.begin

    def begin(self: BlockingStore, call: object) -> object:
        frame = getattr(call, "cr_frame", None)
        read.append(str(frame.f_locals.get("path", "")) if frame else "")
        return whole(self, call)  # type: ignore[arg-type]

    monkeypatch.setattr(BlockingStore, "begin", begin)
    found = ask(
        settings,
        f'SELECT "offset" FROM "{topic}" WHERE partition = 1 AND "offset" BETWEEN 12 AND 14 ORDER BY 1',
    )
    assert found == [(12,), (13,), (14,)]
    files = {path for path in read if path.endswith(".parquet")}
    assert len(files) == 1
    assert "partition=1" in files.pop()
    assert not [path for path in read if path.endswith(".wo")]


def test_more_hot_rows_than_memory_may_hold(cluster: FileCluster, tmp_path: Path) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    for number in range(4):
        produce(cluster, topic, number * 100, 100)

    async def plan() -> list[Stretch]:
        async with cluster_access(settings)() as opened:
            return (await stretches_of(opened, await bounds_of(opened, [topic])))[topic]

    stretches = asyncio.run(plan())
    with BlockingStore(storage_access(settings)) as store:
        held = hot.hot_rows(store, stretches, tmp_path / "unused")
        spilled = hot.hot_rows(store, stretches, tmp_path / "spill", 1_000)
    assert not (tmp_path / "unused").exists()
    assert (tmp_path / "spill").stat().st_size > 1_000
    assert spilled.equals(held)
    assert spilled.num_rows == 400


def test_rows_that_move_again_and_again(cluster: FileCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    produce(cluster, topic, 0, 5)

    def gone(*_: object) -> object:
        produce(cluster, topic, 0, 1)
        raise NotFound("wal/gone.wo")

    stretches = iter(range(100))
    monkeypatch.setattr(engine, "TopicRows", gone)

    async def moved(*_: object) -> dict[str, list[int]]:
        return {topic: [next(stretches)]}

    monkeypatch.setattr(engine, "stretches_of", moved)
    with pytest.raises(RowsMoved, match="run it again"):
        ask(settings, offsets(topic))


@pytest.mark.slow
def test_neither_spark_nor_iceberg_is_needed(cluster: FileCluster) -> None:
    topic = new_topic(cluster.kafka)
    produce(cluster, topic, 0, 3)
    program = (
        "import sys; from dray.cli.main import run; code = run(sys.argv[1:]); "
        "print([name for name in ('pyspark', 'pyiceberg') if name in sys.modules]); sys.exit(code)"
    )
    query = f'SELECT count(*) AS n FROM "{topic}"'
    ran = subprocess.run(
        [sys.executable, "-c", program, "sql", query, *cluster.flags],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "n\n3\n[]\n", "")
