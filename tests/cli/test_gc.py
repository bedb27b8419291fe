"""`dray gc run`: a dry run reports what a run deletes, and changes nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.in_process_compaction import compact, settings_of
from tests.cli.invoking import Result, invoke, invoke_ok

NO_GRACE = [
    "--set=log.wal_gc_grace_ms=0",
    "--set=log.file_gc_grace_ms=0",
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FileCluster]:
    with file_cluster(tmp_path) as running:
        yield running


def gc(cluster: FileCluster, *arguments: str) -> Result:
    result = invoke("gc", "run", *arguments, *cluster.flags)
    assert result.code == 0, result.err
    return result


def snapshot(cluster: FileCluster) -> tuple[list[Path], list[tuple[object, ...]]]:
    """Return all objects and all metadata entries."""
    objects = sorted(path for path in (cluster.data_dir / "objects").rglob("*") if path.is_file())
    # apsw, as the broker: closing the file with another SQLite library in this process would drop its locks.
    database = apsw.Connection(str(cluster.data_dir / "metadata.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    found = list(database.execute("SELECT * FROM entries ORDER BY domain, depth, key"))
    database.close()
    return objects, found


def test_gc_without_garbage_deletes_nothing(cluster: FileCluster) -> None:
    assert gc(cluster, "--dry-run").lines == ["would delete nothing"]
    assert gc(cluster).lines == ["deleted nothing"]


def test_compacted_wal_objects_are_deleted(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "t", kafka=cluster.kafka)
    for _ in range(3):
        invoke_ok("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    wal = cluster.objects
    assert len(wal) == 3
    compact(settings_of(cluster, {"log.wal_gc_grace_ms": "0"}), "t")
    before = snapshot(cluster)
    dry = json.loads(gc(cluster, "--dry-run", "--json").out)
    assert snapshot(cluster) == before
    assert [one["path"] for one in dry["deleted"]] == sorted(
        str(path.relative_to(cluster.data_dir / "objects")) for path in wal
    )
    assert {one["reason"] for one in dry["deleted"]} == {"unreferenced"}
    assert dry["deleted_bytes"] == sum(path.stat().st_size for path in wal)
    text = gc(cluster, "--dry-run").lines
    summary = f"3 objects ({dry['deleted_bytes']} bytes): 3 unreferenced"
    assert text[-1] == f"would delete {summary}"
    assert len(text) == 5
    assert gc(cluster).lines == [f"deleted {summary}"]
    assert cluster.objects == []
    assert gc(cluster).lines == ["deleted nothing"]


def test_objects_in_their_grace_period_are_kept(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "t", kafka=cluster.kafka)
    invoke_ok("produce", "t", "-q", stdin=b"a\n", kafka=cluster.kafka)
    compact(settings_of(cluster), "t")
    assert gc(cluster).lines == ["deleted nothing"]
    assert len(cluster.objects) == 1


def test_old_orphans_are_deleted(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "t", kafka=cluster.kafka)
    invoke_ok("produce", "t", "-q", stdin=b"a\n", kafka=cluster.kafka)
    [kept] = cluster.objects
    orphan = kept.with_name(f"{'ab' * 16}.wo")
    orphan.write_bytes(b"left behind")
    file = (
        cluster.data_dir
        / "objects/compaction/v1/topic=t/partition=0/date=2026/01/01"
        / (f"{1:016x}-{'cd' * 16}.parquet")
    )
    file.parent.mkdir(parents=True)
    file.write_bytes(b"rows")
    young = gc(cluster, "--dry-run")
    assert young.lines == ["would delete nothing"]
    old = "--set=log.orphan_ttl_ms=60000"
    _age(orphan, file, kept)
    dry = json.loads(gc(cluster, "--dry-run", "--json", old).out)
    root = cluster.data_dir / "objects"
    assert {(one["path"], one["reason"], one["size_bytes"]) for one in dry["deleted"]} == {
        (str(orphan.relative_to(root)), "no metadata record", 11),
        (str(file.relative_to(root)), "no metadata record", 4),
    }
    assert orphan.exists()
    assert file.exists()
    assert gc(cluster, old).lines == ["deleted 2 objects (15 bytes): 2 no metadata record"]
    assert not orphan.exists()
    assert not file.exists()
    assert kept.exists()


def test_files_waiting_for_a_compactor_are_reported(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "t", kafka=cluster.kafka)
    invoke_ok("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    compact(settings_of(cluster), "t")
    [file] = (cluster.data_dir / "objects").rglob("*.parquet")
    invoke_ok("topics", "delete", "t", "--yes", kafka=cluster.kafka)
    kept = "kept 1 expired file: a compactor must first confirm that no table"
    assert gc(cluster).lines[1].startswith(kept)
    path = str(file.relative_to(cluster.data_dir / "objects"))
    assert json.loads(gc(cluster, "--json").out)["waiting"] == [path]
    assert file.exists()


def _age(*paths: Path) -> None:
    import os

    for path in paths:
        os.utime(path, (1_700_000_000, 1_700_000_000))


def test_dry_run_reports_what_retention_would_expire(cluster: FileCluster) -> None:
    invoke_ok("topics", "create", "t", kafka=cluster.kafka)
    for _ in range(3):
        invoke_ok("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    invoke_ok("topics", "alter", "t", "--config=retention.bytes=1", kafka=cluster.kafka)
    before = snapshot(cluster)
    dry = gc(cluster, "--dry-run")
    assert dry.lines[0].startswith("would expire offsets 0 to 3 of t, partition 0: ")
    assert dry.lines[1:] == ["would delete nothing"]
    assert snapshot(cluster) == before
    done = gc(cluster, *NO_GRACE)
    assert done.lines[0].startswith("expired offsets 0 to 3 of t, partition 0: ")
    assert done.lines[1].startswith("deleted 2 objects (")
    assert len(cluster.objects) == 1
    shown = invoke("index", "show", "t", "0", "--json", *cluster.metadata_flags)
    assert json.loads(shown.out)["head"]["log_start"] == 4
