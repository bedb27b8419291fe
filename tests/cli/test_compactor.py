"""`dray compactor` with a real Spark, and its errors when something is missing."""

import json
from pathlib import Path

import pytest

from dray.server import compactor_process, errors
from dray.spark.java import JavaMissing
from tests.cli import up_process
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.invoking import invoke, invoke_ok
from tests.cli.up_process import running
from tests.oracle.cache import CACHE
from tests.tables.duck import reading_iceberg

SPARK_S = 240.0
"""How long Spark may take on a busy machine."""


def flags(cluster: FileCluster) -> list[str]:
    return [*cluster.flags, f"--catalog=sqlite:{cluster.data_dir}/tables.sqlite"]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.real("java", "spark")
def test_compactor_once_compacts_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All records become rows of tables, however recent; the stream does not change."""
    monkeypatch.setattr(up_process, "WAIT_S", SPARK_S)
    with file_cluster(tmp_path) as cluster:
        for topic, partitions in (("web.clicks", 3), ("orders", 1)):
            invoke_ok("topics", "create", topic, f"--partitions={partitions}", kafka=cluster.kafka)
            lines = b"".join(b"k%d\tvalue %d\n" % (number, number) for number in range(300))
            invoke_ok("produce", topic, "-q", r"--key-separator=\t", stdin=lines, kafka=cluster.kafka)
        invoke_ok("topics", "create", "empty", kafka=cluster.kafka)
        stream = invoke_ok("consume", "web.clicks", "--no-follow", "--json", kafka=cluster.kafka).lines
        env = {"XDG_CACHE_HOME": str(CACHE)}
        with running("compactor", "--once", *flags(cluster), cwd=tmp_path, env=env) as command:
            assert command.end() == 0, command.errors
            assert command.rest == "wrote 600 records in 4 files\n"
        listed = json.loads(invoke("tables", "list", "--json", *flags(cluster)).out)
        assert [(one["topic"], one["rows"], one["files"], one["lag"]) for one in listed] == [
            ("orders", 300, 1, 0),
            ("web.clicks", 300, 3, 0),
        ]
        after = invoke_ok("consume", "web.clicks", "--no-follow", "--json", kafka=cluster.kafka).lines
        assert sorted(after) == sorted(stream)
        described = json.loads(invoke("tables", "describe", "orders", "--json", *flags(cluster)).out)
    with reading_iceberg() as duck:
        query = str(described["engines"]["duckdb"]).removeprefix("FROM ").removesuffix(";")
        rows = duck.execute(f'SELECT value FROM {query} ORDER BY "offset"').fetchall()
    assert rows == [(b"value %d" % number,) for number in range(300)]


def test_missing_cluster_is_reported(tmp_path: Path) -> None:
    result = invoke("compactor", "--once", f"--data-dir={tmp_path}/none")
    assert result.code == 1
    assert result.err.startswith(f"dray: there is nothing at {tmp_path}/none/metadata.sqlite")
    assert list(tmp_path.iterdir()) == []


def test_missing_libraries_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "metadata.sqlite").touch()
    (tmp_path / "objects").mkdir()
    monkeypatch.setattr(errors, "find_spec", lambda name: None if name in ("numba", "pyspark") else name)
    result = invoke("compactor", "--once", f"--data-dir={tmp_path}")
    assert result.code == 2
    assert result.err == "dray: missing packages: numba, pyspark; install dray[spark]\n"


def test_missing_java_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def find_java(*_: object) -> None:
        raise JavaMissing("Spark needs Java 17 or newer")

    (tmp_path / "metadata.sqlite").touch()
    (tmp_path / "objects").mkdir()
    monkeypatch.setattr(errors, "find_spec", lambda name: name)
    monkeypatch.setattr(compactor_process, "find_java", find_java)
    result = invoke("compactor", "--once", f"--data-dir={tmp_path}")
    assert result.code == 2
    assert result.err == "dray: Spark needs Java 17 or newer\n"
