"""`dray compactor`: all topics become tables, by a real Spark; and what is said when that cannot be."""

import json
from pathlib import Path

import pytest

from dray.cli.compaction import needs
from dray.pipeline.spark.java import JavaMissing
from tests.cli import up_process
from tests.cli.calling import call, good
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.up_process import running
from tests.oracle.cache import CACHE
from tests.tables.duck import reading_iceberg

SPARK_S = 240.0
"""How long Spark may take on a machine that has much else to do."""


def flags(cluster: FileCluster) -> list[str]:
    return [*cluster.flags, f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.real("java", "spark")
def test_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is there becomes Parquet and rows of tables, however young; the stream stays as it was."""
    monkeypatch.setattr(up_process, "WAIT_S", SPARK_S)
    with file_cluster(tmp_path) as cluster:
        for topic, partitions in (("web.clicks", 3), ("orders", 1)):
            good("topics", "create", topic, f"--partitions={partitions}", kafka=cluster.kafka)
            lines = b"".join(b"k%d\tvalue %d\n" % (number, number) for number in range(300))
            good("produce", topic, "-q", r"--key-separator=\t", stdin=lines, kafka=cluster.kafka)
        good("topics", "create", "empty", kafka=cluster.kafka)
        stream = good("consume", "web.clicks", "--no-follow", "--json", kafka=cluster.kafka).lines
        env = {"XDG_CACHE_HOME": str(CACHE)}
        with running("compactor", "--once", *flags(cluster), cwd=tmp_path, env=env) as command:
            assert command.end() == 0, command.errors
            assert command.rest == "wrote 600 records in 4 files\n"
        listed = json.loads(call("tables", "list", "--json", *flags(cluster)).out)
        assert [(one["topic"], one["rows"], one["files"], one["behind"]) for one in listed] == [
            ("orders", 300, 1, 0),
            ("web.clicks", 300, 3, 0),
        ]
        after = good("consume", "web.clicks", "--no-follow", "--json", kafka=cluster.kafka).lines
        assert sorted(after) == sorted(stream)
        described = json.loads(call("tables", "describe", "orders", "--json", *flags(cluster)).out)
    with reading_iceberg() as duck:
        query = str(described["engines"]["duckdb"]).removeprefix("FROM ").removesuffix(";")
        rows = duck.execute(f'SELECT value FROM {query} ORDER BY "offset"').fetchall()
    assert rows == [(b"value %d" % number,) for number in range(300)]


def test_a_cluster_that_is_not_there(tmp_path: Path) -> None:
    called = call("compactor", "--once", f"--data-dir={tmp_path}/none")
    assert called.code == 1
    assert called.err.startswith(f"dray: there is nothing at {tmp_path}/none/metadata.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_libraries_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metadata.sqlite").touch()
    (tmp_path / "objects").mkdir()
    monkeypatch.setattr(needs, "find_spec", lambda name: None if name in ("numba", "pyspark") else name)
    called = call("compactor", "--once", f"--data-dir={tmp_path}")
    assert called.code == 2
    assert called.err == "dray: compaction needs numba, pyspark: pip install 'dray[spark]'\n"


def test_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_java(*_: object) -> None:
        raise JavaMissing("Spark needs Java 17 or newer")

    (tmp_path / "metadata.sqlite").touch()
    (tmp_path / "objects").mkdir()
    monkeypatch.setattr(needs, "find_spec", lambda name: name)
    monkeypatch.setattr(needs, "find_java", find_java)
    called = call("compactor", "--once", f"--data-dir={tmp_path}")
    assert called.code == 2
    assert called.err == "dray: Spark needs Java 17 or newer\n"
