"""`dray wal inspect`, of files and of objects."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.formats.wal_v1 import ChunkDraft, CorruptWal, encode, verify
from dray.ids import MetaDomain, StreamId, WalId
from dray.records import Record, encode_batch
from tests.cli.calling import call, good, new_topic
from tests.cli.clusters import FileCluster, file_cluster


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FileCluster]:
    """A cluster that holds one WAL object with two records of 9 bytes in a gzip batch."""
    with file_cluster(tmp_path_factory.mktemp("wal")) as running:
        topic = new_topic(running.kafka)
        good("produce", topic, "-q", "--codec=gzip", stdin=b"first one\nsecond 1\n", kafka=running.kafka)
        yield running


@pytest.fixture
def damaged(cluster: FileCluster, tmp_path: Path) -> Path:
    """A copy with one bit of a batch turned over."""
    data = bytearray(cluster.objects[0].read_bytes())
    data[130] ^= 1
    path = tmp_path / "damaged.wo"
    path.write_bytes(data)
    return path


def test_a_file(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    called = call("wal", "inspect", str(path), "--json")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert found["wal_id"] == path.stem
    assert found["size_bytes"] == path.stat().st_size
    assert found["verified"] is False
    (chunk,) = found["chunks"]
    assert chunk["records"] == 2
    assert len(chunk["stream"]) == 16
    (batch,) = chunk["batches"]
    assert (batch["records"], batch["codec"], batch["base_sequence"]) == (2, "gzip", 0)
    assert batch["at"] == chunk["at"] + 4
    assert batch["size_bytes"] == chunk["size_bytes"] - 4


def test_as_text(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    found = json.loads(call("wal", "inspect", str(path), "--json").out)
    lines = call("wal", "inspect", str(path), "--verify").lines
    assert lines[0] == f"WAL object {path}"
    assert lines[1].startswith(f"  id {path.stem}, domain {found['domain']}, made 20")
    assert lines[2] == f"  {found['size_bytes']} bytes, 1 chunks, every CRC holds"
    stream = found["chunks"][0]["stream"]
    assert lines[4] == f"stream {stream}: {found['chunks'][0]['size_bytes']} bytes at 49"
    assert lines[-1].split()[:4] == ["53", str(found["chunks"][0]["batches"][0]["size_bytes"]), "2", "gzip"]
    assert "CRCs not checked" in call("wal", "inspect", str(path)).lines[2]


def test_an_object_of_the_storage(cluster: FileCluster) -> None:
    (path,) = cluster.objects
    name = str(path.relative_to(cluster.data_dir / "objects"))
    called = call("wal", "inspect", name, "--json", "--verify", f"--storage=file:{cluster.data_dir}/objects")
    assert called.code == 0, called.err
    found = json.loads(called.out)
    assert found["name"] == name
    assert found["verified"] is True
    assert found["wal_id"] == path.stem


def test_a_damaged_one_says_what_the_format_says(damaged: Path) -> None:
    with pytest.raises(CorruptWal) as error:
        verify(str(damaged), damaged.read_bytes())
    called = call("wal", "inspect", str(damaged), "--verify")
    assert called.code == 1
    assert called.err == f"dray: {error.value}\n"
    assert "its footer says CRC" in called.err
    assert called.out == b""
    assert call("wal", "inspect", str(damaged)).code == 0


@pytest.mark.parametrize(
    ("batch", "found", "told"),
    [
        (encode_batch([Record(0, 0, None, b"v")])[:-1] + b"?", True, "at byte 53: the batch says CRC"),
        (encode_batch([Record(0, 0, None, b"v")], codec=1)[:-1], True, "at byte 53: the batch claims"),
        (b"short", False, "at byte 53: a batch header takes 61 bytes"),
    ],
)
def test_a_sound_object_with_a_damaged_batch(tmp_path: Path, batch: bytes, found: bool, told: str) -> None:
    draft = ChunkDraft(StreamId(7), [batch], 1, 0, 0)
    path = tmp_path / "sound.wo"
    path.write_bytes(b"".join(encode(WalId(b"i" * 16), MetaDomain(0), 0, [draft]).parts))
    called = call("wal", "inspect", str(path), "--verify")
    assert called.code == 1
    assert told in called.err
    assert (call("wal", "inspect", str(path)).code == 0) == found


def test_a_torn_one(cluster: FileCluster, tmp_path: Path) -> None:
    whole = cluster.objects[0].read_bytes()
    for size in (0, 30, 60, len(whole) - 20):
        path = tmp_path / f"torn-{size}.wo"
        path.write_bytes(whole[:size])
        called = call("wal", "inspect", str(path))
        assert called.code == 1
        assert called.err.startswith(f"dray: WAL object {path} is corrupt at byte ")


def test_what_is_no_wal_object(tmp_path: Path) -> None:
    path = tmp_path / "letter.txt"
    path.write_text("Dear reader, this is something else altogether, and long enough.")
    called = call("wal", "inspect", str(path))
    assert called.code == 1
    assert "a WAL object starts with b'DRAYWO1'" in called.err


def test_what_is_not_there(cluster: FileCluster, tmp_path: Path) -> None:
    storage = f"--storage=file:{cluster.data_dir}/objects"
    missing = call("wal", "inspect", "wal/v1/none.wo", storage)
    assert missing.code == 1
    assert "wal/v1/none.wo" in missing.err
    wrong = call("wal", "inspect", "/no/such/file.wo", storage)
    assert wrong.code == 1
    assert wrong.err.startswith("dray: /no/such/file.wo is no file, and cannot be an object: ")
    nothing = call("wal", "inspect", "a.wo", f"--data-dir={tmp_path}/none")
    assert nothing.code == 1
    assert "there is nothing at" in nothing.err
    assert list(tmp_path.iterdir()) == []
