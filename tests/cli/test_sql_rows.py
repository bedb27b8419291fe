"""Rows of `dray sql` during compaction and garbage collection, with damage, and beyond memory."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dray.log import LogDamaged
from dray.objects.port import NotFound
from dray.scan.blocking import BlockingStore
from dray.scan.ranges import EntryRange
from dray.server.access import cluster_access, storage_access
from dray.settings import DraySettings
from dray.sql import engine, hot
from dray.sql.engine import bounds_of, entry_ranges_of
from dray.sql.results import RowsMoved, pages
from dray.sql.views import TopicRows
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import invoke, new_topic
from tests.cli.test_sql import produce


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("rows")) as running:
        yield running


def ask(settings: DraySettings, query: str) -> list[tuple[object, ...]]:
    with engine.executing(cluster_access(settings), storage_access(settings), query) as results:
        return [row for result in results for page in pages(result) for row in page]


def offsets(topic: str) -> str:
    return f'SELECT partition, "offset" FROM "{topic}" ORDER BY ALL'


@pytest.mark.slow
def test_rows_are_complete_and_unique_during_compaction(cluster: FileCluster) -> None:
    """Each query during production and compaction sees a prefix of every partition, without gaps."""
    topic, settings = new_topic(cluster.kafka, partitions=2), settings_of(cluster)
    merging = settings_of(cluster, {"compaction.merge_files_min": "2"})
    produce(cluster, topic, 0, 10)

    producing = threading.Event()
    producing.set()

    def query_repeatedly() -> list[int]:
        seen = []
        while producing.is_set():
            found = ask(settings, offsets(topic))
            for partition in (0, 1):
                of_it = [offset for number, offset in found if number == partition]
                assert of_it == list(range(len(of_it)))
            seen.append(len(found))
        return seen

    with ThreadPoolExecutor(1) as threads:
        looking = threads.submit(query_repeatedly)
        for number in range(1, 7):
            produce(cluster, topic, number * 10, 10)
            compact(merging if number % 2 else settings, topic)
        producing.clear()
        seen = looking.result()
    assert seen == sorted(seen)
    assert seen
    assert len(ask(settings, offsets(topic))) == 70


def test_statements_of_one_call_share_a_snapshot(
    cluster: FileCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    produce(cluster, topic, 0, 5)
    count = f'SELECT count(*) FROM "{topic}";'
    with engine.executing(cluster_access(settings), storage_access(settings), count * 2) as results:
        counted = []
        for result in results:
            counted += [row for page in pages(result) for row in page]
            produce(cluster, topic, 5, 5)
    assert counted == [(5,), (5,)]


def planned_before_compaction(
    cluster: FileCluster, topic: str, monkeypatch: pytest.MonkeyPatch, *, produced: int = 0
) -> list[int]:
    """Run compaction and garbage collection between the next query's plan and its first read."""
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


def test_rows_compacted_during_the_query_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 20)
        moves = planned_before_compaction(cluster, topic, monkeypatch)
        assert [offset for _, offset in ask(settings, offsets(topic))] == list(range(20))
        assert moves == [1]


def test_offsets_are_fixed_when_the_query_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file compacted in the meantime may reach beyond the query's end; those rows are not returned."""
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 20)
        moves = planned_before_compaction(cluster, topic, monkeypatch, produced=7)
        assert [offset for _, offset in ask(settings, offsets(topic))] == list(range(20))
        assert moves == [1]
        monkeypatch.undo()
        assert len(ask(settings, offsets(topic))) == 27


def test_missing_wal_object_is_named(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 5)
        [wal] = cluster.objects
        wal.unlink()
        with pytest.raises(LogDamaged, match=rf"offsets 0 to 4.*{wal.name}.*there is no such object"):
            ask(settings, offsets(topic))
        result = invoke("sql", offsets(topic), *cluster.flags)
        assert result.code == 1
        assert wal.name in result.err
        assert result.err.count("\n") == 1


def test_missing_parquet_file_is_named(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 5)
        compact(settings, topic)
        [file] = cluster.data_dir.rglob("*.parquet")
        file.unlink()
        with pytest.raises(LogDamaged, match=rf"offsets 0 to 4.*{file.name}.*there is no such object"):
            ask(settings, offsets(topic))


@pytest.mark.parametrize("place", ["footer", "page", "end"])
def test_damaged_parquet_file_is_an_error(tmp_path: Path, place: str) -> None:
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


def test_damaged_wal_object_is_an_error(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 50)
        [wal] = cluster.objects
        data = bytearray(wal.read_bytes())
        data[len(data) // 2] ^= 0xFF
        wal.write_bytes(data)
        with pytest.raises(LogDamaged, match="is damaged"):
            ask(settings, offsets(topic))


def test_records_skipped_by_compaction_are_read_from_the_wal(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic, settings = new_topic(cluster.kafka), settings_of(cluster)
        produce(cluster, topic, 0, 10)
        before = set(cluster.objects)
        produce(cluster, topic, 10, 10)
        (lost,) = set(cluster.objects) - before
        produce(cluster, topic, 20, 10)
        content = lost.read_bytes()
        lost.unlink()
        report = compact(settings, topic)
        assert (report.records, report.skipped_records) == (20, 10)
        with pytest.raises(LogDamaged, match=r"offsets 10 to 19 are in .*there is no such object"):
            ask(settings, offsets(topic))
        lost.write_bytes(content)
        assert [offset for _, offset in ask(settings, offsets(topic))] == list(range(30))


def test_query_reads_only_the_needed_columns_and_files(
    cluster: FileCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics that a query does not name are not opened, and files without matching rows are not read."""
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


def test_wal_rows_larger_than_memory_are_streamed(cluster: FileCluster, tmp_path: Path) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    for number in range(4):
        produce(cluster, topic, number * 100, 100)

    async def plan() -> list[EntryRange]:
        async with cluster_access(settings)() as opened:
            return (await entry_ranges_of(opened, await bounds_of(opened, [topic])))[topic]

    entry_ranges = asyncio.run(plan())
    with BlockingStore(storage_access(settings)) as store:
        held = hot.hot_rows(store, entry_ranges, tmp_path / "unused")
        spilled = hot.hot_rows(store, entry_ranges, tmp_path / "spill", 1_000)
    assert not (tmp_path / "unused").exists()
    assert (tmp_path / "spill").stat().st_size > 1_000
    assert spilled.equals(held)
    assert spilled.num_rows == 400


def test_rows_compacted_repeatedly_during_the_query_are_found(
    cluster: FileCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic, settings = new_topic(cluster.kafka), settings_of(cluster)
    produce(cluster, topic, 0, 5)

    def gone(*_: object) -> object:
        produce(cluster, topic, 0, 1)
        raise NotFound("wal/gone.wo")

    entry_ranges = iter(range(100))
    monkeypatch.setattr(engine, "TopicRows", gone)

    async def moved(*_: object) -> dict[str, list[int]]:
        return {topic: [next(entry_ranges)]}

    monkeypatch.setattr(engine, "entry_ranges_of", moved)
    with pytest.raises(RowsMoved, match="run it again"):
        ask(settings, offsets(topic))


@pytest.mark.slow
def test_sql_imports_neither_spark_nor_iceberg(cluster: FileCluster) -> None:
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
