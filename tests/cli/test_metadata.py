"""`dray metadata`: backup, verify and restore as a user runs them, and what they say when that is wrong."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.testing import broker
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.invoking import invoke, invoke_ok, new_topic


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    with file_cluster(tmp_path_factory.mktemp("cluster")) as made:
        topic = new_topic(made.kafka, partitions=5)
        invoke_ok("produce", topic, "-q", stdin=b"a\nb\nc\n", kafka=made.kafka)
        yield made


def backed_up(cluster: FileCluster, path: Path) -> Path:
    done = invoke("metadata", "backup", "--to", str(path), *cluster.flags)
    assert (done.code, done.lines[-1].endswith(f" to {path}")) == (0, True), done.err
    assert "saved " in done.err, "progress"
    return path


def test_backup_of_a_running_cluster_is_valid(cluster: FileCluster, tmp_path: Path) -> None:
    path = backed_up(cluster, tmp_path / "b")
    text = invoke("metadata", "verify", str(path))
    assert (text.code, text.lines[-1].endswith("keys, all valid")) == (0, True)
    report = json.loads(invoke("metadata", "verify", str(path), "--json").out)
    counts = {one["keys"]: one["count"] for one in report["families"]}
    assert (report["store"], report["domains"], report["generation"]) == ("sqlite", 3, 0)
    assert (report["cluster_id"], report["problems"]) == (cluster.kafka.cluster_id, [])
    assert counts["topics/<topic>"] == 1
    assert counts["streams/<stream>/head"] == 5
    assert "brokers/<broker id>" not in counts


def test_backup_in_the_object_store_is_found_by_name_and_as_the_newest(cluster: FileCluster) -> None:
    saved = invoke("metadata", "backup", "--to", "objects", *cluster.flags)
    assert saved.code == 0, saved.err
    name = saved.lines[-1].rpartition(" to ")[2]
    for source in ("objects", name):
        report = json.loads(invoke("metadata", "verify", source, "--json", *cluster.storage_flags).out)
        assert f"objects:{report['backup']}" == name
    missing = invoke("metadata", "verify", "objects:other", *cluster.storage_flags)
    assert (missing.code, missing.err) == (
        1,
        f"dray: backup objects:other does not exist; the newest is {name}\n",
    )


def test_damaged_newest_backup_is_skipped(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        for _ in range(2):
            assert invoke("metadata", "backup", "--to", "objects", *cluster.flags).code == 0
    *_, older, newest = sorted((tmp_path / "objects" / "backups" / "metadata" / "v1").iterdir())
    part = newest / "part-00000"
    data = bytearray(part.read_bytes())
    data[-10] ^= 1
    part.unlink()
    part.write_bytes(data)
    found = invoke("metadata", "verify", "objects", "--json", *cluster.storage_flags)
    assert json.loads(found.out)["backup"] == older.name
    assert f"dray: backup objects:{newest.name} is corrupt at byte " in found.err
    assert "; trying the one before" in found.err
    named = invoke("metadata", "verify", f"objects:{newest.name}", *cluster.storage_flags)
    assert (named.code, "is corrupt" in named.err) == (1, True)


def test_restored_cluster_serves_the_same_records(tmp_path: Path) -> None:
    with file_cluster(tmp_path) as cluster:
        topic = new_topic(cluster.kafka, partitions=3)
        invoke_ok("produce", topic, "-q", stdin=b"1\n2\n3\n", kafka=cluster.kafka)
        path = backed_up(cluster, tmp_path / "b")
        invoke_ok("produce", topic, "-q", stdin=b"lost\n", kafka=cluster.kafka)
    target = f"sqlite:{tmp_path}/elsewhere/metadata.sqlite"
    flags = [*cluster.storage_flags, f"--metadata={target}"]
    restored = invoke("metadata", "restore", "--from", str(path), *flags)
    assert restored.code == 0, restored.err
    assert restored.lines[-1].startswith("restored ")
    settings = {"metadata.url": target, "storage.url": f"file:{tmp_path}/objects", "cluster.domains": "3"}
    with broker(settings) as kafka:
        assert sorted(invoke_ok("consume", topic, "--no-follow", kafka=kafka).lines) == ["1", "2", "3"]
        invoke_ok("produce", topic, "-q", stdin=b"4\n", kafka=kafka)
        assert len(invoke_ok("consume", topic, "--no-follow", kafka=kafka).lines) == 4
    old = invoke("gc", "run", *cluster.flags)
    assert (old.code, f"is superseded: a backup of it was restored into {target}" in old.err) == (1, True)


def test_restore_beside_live_brokers_is_refused(cluster: FileCluster, tmp_path: Path) -> None:
    path = backed_up(cluster, tmp_path / "b")
    refused = invoke("metadata", "restore", "--from", str(path), *cluster.flags)
    assert refused.code == 1
    assert "brokers use the metadata store sqlite:" in refused.err
    assert "stop them first" in refused.err


def test_store_in_memory_is_refused(cluster: FileCluster) -> None:
    refused = invoke("metadata", "restore", "--from", "x", "--metadata=memory:", *cluster.storage_flags)
    assert refused.err == "dray: a restore into memory: would be lost at once; name a store with --metadata\n"


def test_missing_stores_and_files_are_named(cluster: FileCluster, tmp_path: Path) -> None:
    nowhere = f"{tmp_path}/nowhere"
    new = f"--metadata=sqlite:{tmp_path}/new"
    for arguments, expected in (
        (["backup", "--to", f"{tmp_path}/b", f"--metadata=sqlite:{nowhere}"], f"nothing at {nowhere}"),
        (["backup", "--to", f"{nowhere}/b", *cluster.flags], f"cannot write {nowhere}/.b."),
        (["verify", nowhere], f"cannot read {nowhere}: No such file or directory"),
        (["verify", __file__], f"backup {__file__} is corrupt at byte 0: it starts with"),
        (["verify", "objects", f"--storage=file:{nowhere}"], f"nothing at {nowhere}"),
        (["restore", "--from", nowhere, new, *cluster.storage_flags], "No such file"),
        (["restore", "--from", "objects", new, f"--storage=file:{tmp_path}"], "there is no undamaged backup"),
    ):
        failed = invoke("metadata", *arguments)
        assert failed.code == 1, arguments
        assert expected in failed.err
        assert len(failed.err.splitlines()) == 1
