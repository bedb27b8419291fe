"""`dray gc run`: what a dry run tells is what a run does, and a dry run does nothing."""

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.cli.calling import Called, call, good
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.compaction_here import compact, settings_of

NO_GRACE = [
    "--set=log.wal_gc_grace_ms=0",
    "--set=log.file_gc_grace_ms=0",
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FileCluster]:
    with file_cluster(tmp_path) as running:
        yield running


def gc(cluster: FileCluster, *arguments: str) -> Called:
    called = call("gc", "run", *arguments, *cluster.flags)
    assert called.code == 0, called.err
    return called


def everything(cluster: FileCluster) -> tuple[list[Path], list[tuple[object, ...]]]:
    """Return all objects and everything in the metadata store."""
    objects = sorted(path for path in (cluster.data_dir / "objects").rglob("*") if path.is_file())
    # The broker's own library: closing the file with another one in the same process would drop its locks.
    database = apsw.Connection(str(cluster.data_dir / "metadata.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    found = list(database.execute("SELECT * FROM entries ORDER BY domain, depth, key"))
    database.close()
    return objects, found


def test_nothing_to_do(cluster: FileCluster) -> None:
    assert gc(cluster, "--dry-run").lines == ["would delete nothing"]
    assert gc(cluster).lines == ["deleted nothing"]


def test_wal_objects_go_after_compaction(cluster: FileCluster) -> None:
    good("topics", "create", "t", kafka=cluster.kafka)
    for _ in range(3):
        good("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    wal = cluster.objects
    assert len(wal) == 3
    compact(settings_of(cluster, {"log.wal_gc_grace_ms": "0"}), "t")
    before = everything(cluster)
    dry = json.loads(gc(cluster, "--dry-run", "--json").out)
    assert everything(cluster) == before
    assert [one["path"] for one in dry["deleted"]] == sorted(
        str(path.relative_to(cluster.data_dir / "objects")) for path in wal
    )
    assert {one["why"] for one in dry["deleted"]} == {"nothing points to it any more"}
    assert dry["deleted_bytes"] == sum(path.stat().st_size for path in wal)
    text = gc(cluster, "--dry-run").lines
    told = f"3 objects of {dry['deleted_bytes']} bytes: 3 because nothing points to it any more"
    assert text[-1] == f"would delete {told}"
    assert len(text) == 5
    assert gc(cluster).lines == [f"deleted {told}"]
    assert cluster.objects == []
    assert gc(cluster).lines == ["deleted nothing"]


def test_what_is_in_its_grace_stays(cluster: FileCluster) -> None:
    good("topics", "create", "t", kafka=cluster.kafka)
    good("produce", "t", "-q", stdin=b"a\n", kafka=cluster.kafka)
    compact(settings_of(cluster), "t")
    assert gc(cluster).lines == ["deleted nothing"]
    assert len(cluster.objects) == 1


def test_strays(cluster: FileCluster) -> None:
    good("topics", "create", "t", kafka=cluster.kafka)
    good("produce", "t", "-q", stdin=b"a\n", kafka=cluster.kafka)
    [kept] = cluster.objects
    stray = kept.with_name(f"{'ab' * 16}.wo")
    stray.write_bytes(b"left behind")
    file = (
        cluster.data_dir
        / "objects/compaction/v1/topic=t/partition=0/date=2026/01/01"
        / (f"{1:016x}-{'cd' * 16}.parquet")
    )
    file.parent.mkdir(parents=True)
    file.write_bytes(b"rows")
    young = gc(cluster, "--dry-run")
    assert young.lines == ["would delete nothing"]
    old = "--set=log.wal_orphan_ttl_ms=60000"
    _age(stray, file, kept)
    dry = json.loads(gc(cluster, "--dry-run", "--json", old).out)
    root = cluster.data_dir / "objects"
    assert {(one["path"], one["why"], one["size_bytes"]) for one in dry["deleted"]} == {
        (str(stray.relative_to(root)), "nothing tells of it", 11),
        (str(file.relative_to(root)), "nothing tells of it", 4),
    }
    assert stray.exists()
    assert file.exists()
    assert gc(cluster, old).lines == ["deleted 2 objects of 15 bytes: 2 because nothing tells of it"]
    assert not stray.exists()
    assert not file.exists()
    assert kept.exists()


def test_files_that_wait_for_a_compactor_are_told(cluster: FileCluster) -> None:
    good("topics", "create", "t", kafka=cluster.kafka)
    good("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    compact(settings_of(cluster), "t")
    [file] = (cluster.data_dir / "objects").rglob("*.parquet")
    good("topics", "delete", "t", "--yes", kafka=cluster.kafka)
    left = "left 1 given-up file: a compactor must first have seen that no table names them"
    assert gc(cluster).lines[1].startswith(left)
    path = str(file.relative_to(cluster.data_dir / "objects"))
    assert json.loads(gc(cluster, "--json").out)["waiting"] == [path]
    assert file.exists()


def _age(*paths: Path) -> None:
    import os

    for path in paths:
        os.utime(path, (1_700_000_000, 1_700_000_000))


def test_retention_is_told_before_it_is_done(cluster: FileCluster) -> None:
    good("topics", "create", "t", kafka=cluster.kafka)
    for _ in range(3):
        good("produce", "t", "-q", stdin=b"a\nb\n", kafka=cluster.kafka)
    good("topics", "alter", "t", "--config=retention.bytes=1", kafka=cluster.kafka)
    before = everything(cluster)
    dry = gc(cluster, "--dry-run")
    assert dry.lines[0].startswith("would give up offsets 0 to 3 of t, partition 0: ")
    assert dry.lines[1:] == ["would delete nothing"]
    assert everything(cluster) == before
    done = gc(cluster, *NO_GRACE)
    assert done.lines[0].startswith("gave up offsets 0 to 3 of t, partition 0: ")
    assert done.lines[1].startswith("deleted 2 objects of ")
    assert len(cluster.objects) == 1
    shown = call("index", "show", "t", "0", "--json", *cluster.flags)
    assert json.loads(shown.out)["head"]["log_start"] == 4
