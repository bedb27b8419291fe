"""`dray wal inspect` of files and objects."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.formats.wal_v1 import ChunkDraft, CorruptWal, encode, verify
from dray.ids import MetaDomain, StreamId, WalId
from dray.records import Record, encode_batch
from tests.cli.clusters import FileCluster, file_cluster
from tests.cli.invoking import invoke, invoke_ok, new_topic


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    """A cluster that holds one WAL object with two records in a gzip batch."""
    with file_cluster(tmp_path_factory.mktemp("wal")) as running:
        topic = new_topic(running.kafka)
        lines = b"first one" * 20 + b"\n" + b"second one" * 20 + b"\n"
        invoke_ok("produce", topic, "-q", "--codec=gzip", stdin=lines, kafka=running.kafka)
        yield running


@pytest.fixture
def damaged(cluster: FileCluster, tmp_path: Path) -> Path:
    """A copy with one bit of a batch flipped."""
    data = bytearray(cluster.objects[0].read_bytes())
    data[130] ^= 1
    path = tmp_path / "damaged.wo"
    path.write_bytes(data)
    return path


def test_inspect_local_file_as_json(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    result = invoke("wal", "inspect", str(path), "--json")
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["wal_id"] == path.stem
    assert found["size_bytes"] == path.stat().st_size
    assert found["verified"] is False
    (chunk,) = found["chunks"]
    assert chunk["records"] == 2
    assert len(chunk["stream"]) == 16
    (batch,) = chunk["batches"]
    assert (batch["records"], batch["codec"], batch["base_sequence"]) == (2, "gzip", 0)
    assert batch["position"] == chunk["position"] + 4
    assert batch["size_bytes"] == chunk["size_bytes"] - 4


def test_inspect_prints_text(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    found = json.loads(invoke("wal", "inspect", str(path), "--json").out)
    lines = invoke("wal", "inspect", str(path), "--verify").lines
    assert lines[0] == f"WAL object {path}"
    assert lines[1].startswith(f"  id {path.stem}, domain {found['domain']}, created 20")
    assert lines[2] == f"  {found['size_bytes']} bytes, 1 chunks, all CRCs match"
    stream = found["chunks"][0]["stream"]
    assert lines[4] == f"stream {stream}: {found['chunks'][0]['size_bytes']} bytes at 49"
    assert lines[-1].split()[:4] == ["53", str(found["chunks"][0]["batches"][0]["size_bytes"]), "2", "gzip"]
    assert "CRCs not checked" in invoke("wal", "inspect", str(path)).lines[2]


def test_inspect_reads_an_object_in_storage(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    name = str(path.relative_to(cluster.data_dir / "objects"))
    result = invoke("wal", "inspect", name, "--json", "--verify", *cluster.storage_flags)
    assert result.code == 0, result.err
    found = json.loads(result.out)
    assert found["name"] == name
    assert found["verified"] is True
    assert found["wal_id"] == path.stem


def test_damaged_object_reports_the_format_error(damaged: Path) -> None:
    with pytest.raises(CorruptWal) as error:
        verify(str(damaged), damaged.read_bytes())
    result = invoke("wal", "inspect", str(damaged), "--verify")
    assert result.code == 1
    assert result.err == f"dray: {error.value}\n"
    assert "footer CRC mismatch" in result.err
    assert result.out == b""
    assert invoke("wal", "inspect", str(damaged)).code == 0


@pytest.mark.parametrize(
    ("batch", "found", "message"),
    [
        (encode_batch([Record(0, 0, None, b"v")])[:-1] + b"?", True, "at byte 53: CRC mismatch"),
        (
            encode_batch([Record(0, 0, None, b"v")], codec=1)[:-1],
            True,
            "at byte 53: the batch has length 89, found 88",
        ),
        (b"short", False, "at byte 53: expected a 61-byte batch header"),
    ],
)
def test_valid_object_with_a_damaged_batch(tmp_path: Path, batch: bytes, found: bool, message: str) -> None:
    draft = ChunkDraft(StreamId(7), [batch], 1, 0, 0)
    path = tmp_path / "valid.wo"
    path.write_bytes(b"".join(encode(WalId(b"i" * 16), MetaDomain(0), 0, [draft]).parts))
    result = invoke("wal", "inspect", str(path), "--verify")
    assert result.code == 1
    assert message in result.err
    assert (invoke("wal", "inspect", str(path)).code == 0) == found


def test_truncated_object_is_reported(cluster: FileCluster, tmp_path: Path) -> None:
    whole = cluster.objects[0].read_bytes()
    for size in (0, 30, 60, len(whole) - 20):
        path = tmp_path / f"truncated-{size}.wo"
        path.write_bytes(whole[:size])
        result = invoke("wal", "inspect", str(path))
        assert result.code == 1
        assert result.err.startswith(f"dray: WAL object {path} is corrupt at byte ")


def test_file_that_is_not_a_wal_object_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "plain.txt"
    path.write_text("Plain text that is longer than the header of a WAL object, but not one.")
    result = invoke("wal", "inspect", str(path))
    assert result.code == 1
    assert "a WAL object starts with b'DRAYWO1'" in result.err


def test_missing_object_is_reported_in_one_line(cluster: FileCluster, tmp_path: Path) -> None:
    storage = f"--storage=file:{cluster.data_dir}/objects"
    missing = invoke("wal", "inspect", "wal/v1/none.wo", storage)
    assert missing.code == 1
    assert "wal/v1/none.wo" in missing.err
    wrong = invoke("wal", "inspect", "/no/such/file.wo", storage)
    assert wrong.code == 1
    assert wrong.err.startswith("dray: /no/such/file.wo is not a file, and not a valid object name: ")
    nothing = invoke("wal", "inspect", "a.wo", f"--data-dir={tmp_path}/none")
    assert nothing.code == 1
    assert "there is nothing at" in nothing.err
    assert list(tmp_path.iterdir()) == []
