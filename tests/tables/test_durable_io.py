"""Local metadata files: synced before they have their name, and never overwritten."""

import os
from pathlib import Path
from typing import cast

import pytest

from dray.tables.iceberg.durable_io import DurableFileIO


def test_written_bytes_are_read_back(tmp_path: Path) -> None:
    url = (tmp_path / "a" / "b" / "file").as_uri()
    with DurableFileIO().new_output(url).create() as stream:
        stream.write(b"one ")
        stream.write(b"two")
    with DurableFileIO().new_input(url).open() as file:
        assert file.read() == b"one two"
    assert [entry.name for entry in (tmp_path / "a" / "b").iterdir()] == ["file"]


def test_existing_file_is_not_overwritten_by_default(tmp_path: Path) -> None:
    url = (tmp_path / "file").as_uri()
    output = DurableFileIO().new_output(url)
    with output.create() as stream:
        stream.write(b"first")
    with pytest.raises(FileExistsError):
        output.create()
    with output.create(overwrite=True) as stream:
        stream.write(b"second")
    assert (tmp_path / "file").read_bytes() == b"second"


def test_concurrent_creation_succeeds_once(tmp_path: Path) -> None:
    output = DurableFileIO().new_output((tmp_path / "file").as_uri())
    first, second = output.create(), output.create()
    first.write(b"first")
    second.write(b"second")
    second.close()
    with pytest.raises(FileExistsError):
        first.close()
    assert (tmp_path / "file").read_bytes() == b"second"
    assert len(list(tmp_path.iterdir())) == 1


def test_write_that_failed_leaves_nothing(tmp_path: Path) -> None:
    output = DurableFileIO().new_output((tmp_path / "file").as_uri())
    with pytest.raises(TypeError), output.create() as stream:
        stream.write(cast("bytes", "no bytes"))
    assert list(tmp_path.iterdir()) == []


def test_data_is_synced_before_the_directory_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    real_fsync, real_link = os.fsync, os.link

    def fsync(handle: int) -> None:
        happened.append("sync " + ("folder" if Path(f"/proc/self/fd/{handle}").is_dir() else "file"))
        real_fsync(handle)

    def link(source: Path, target: Path) -> None:
        happened.append("name")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "link", link)
    with DurableFileIO().new_output((tmp_path / "file").as_uri()).create() as stream:
        stream.write(b"bytes")
    assert happened == ["sync file", "name", "sync folder"]


def test_deleting_a_missing_file_succeeds(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for _ in range(2):
        DurableFileIO().delete((tmp_path / "file").as_uri())
    assert not (tmp_path / "file").exists()
