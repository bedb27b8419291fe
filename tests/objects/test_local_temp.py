"""Temp folders and their sweeper in races."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from dray.objects.local import temp, write
from dray.objects.local.write import Writer


def meddle_once(monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Path], None]) -> None:
    """Interfere with the next folder that is created, before it is locked."""
    make = tempfile.mkdtemp
    pending = [meddle]

    def made(*, prefix: str, dir: Path) -> str:  # noqa: A002 - tempfile's own name
        folder = make(prefix=prefix, dir=dir)
        if pending:
            pending.pop()(Path(folder))
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)


@pytest.mark.parametrize("meddle", [shutil.rmtree, lambda folder: temp.sweep(folder.parent.parent)])
def test_folder_swept_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Path], None]
) -> None:
    meddle_once(monkeypatch, meddle)
    own = temp.claim(tmp_path)
    Path(own.new_path()).write_bytes(b"there is a folder")
    assert temp.sweep(tmp_path) == 0
    own.close()
    assert list((tmp_path / temp.HOME).iterdir()) == []


def test_folder_locked_by_a_sweeper_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []

    def hold(folder: Path) -> None:
        held.append(os.open(folder, os.O_RDONLY))
        fcntl.flock(held[0], fcntl.LOCK_EX)

    meddle_once(monkeypatch, hold)
    own = temp.claim(tmp_path)
    assert len(list((tmp_path / temp.HOME).iterdir())) == 2
    os.close(held[0])
    assert temp.sweep(tmp_path) == 1
    Path(own.new_path()).write_bytes(b"there is a folder")
    own.close()


def test_file_among_the_folders_is_ignored(tmp_path: Path) -> None:
    own = temp.claim(tmp_path)
    (tmp_path / temp.HOME / "file").write_bytes(b"")
    assert temp.sweep(tmp_path) == 0
    own.close()


def test_set_of_known_folders_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_KNOWN_MAX", 3)
    own = temp.claim(tmp_path)
    writer = Writer(tmp_path, own)
    for number in range(10):
        writer.put_new(f"{number}/object", [b"1"])
        assert len(writer._durable) <= 3
    own.close()
