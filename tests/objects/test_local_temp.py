"""Temp folders and their sweeper, when they meet in the worst moment."""

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
    """Let somebody do something to the next folder that is made, before its maker can lock it."""
    make = tempfile.mkdtemp
    pending = [meddle]

    def made(*, prefix: str, dir: Path) -> str:  # noqa: A002 - tempfile's own name
        folder = make(prefix=prefix, dir=dir)
        if pending:
            pending.pop()(Path(folder))
        return folder

    monkeypatch.setattr(tempfile, "mkdtemp", made)


@pytest.mark.parametrize("meddle", [shutil.rmtree, lambda folder: temp.sweep(folder.parent.parent)])
def test_a_folder_swept_before_it_was_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meddle: Callable[[Path], None]
) -> None:
    meddle_once(monkeypatch, meddle)
    own = temp.claim(tmp_path)
    Path(own.new_path()).write_bytes(b"there is a folder")
    assert temp.sweep(tmp_path) == 0
    own.close()
    assert list((tmp_path / temp.HOME).iterdir()) == []


def test_a_folder_that_a_sweeper_holds_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_file_among_the_folders_is_no_trouble(tmp_path: Path) -> None:
    own = temp.claim(tmp_path)
    (tmp_path / temp.HOME / "file").write_bytes(b"")
    assert temp.sweep(tmp_path) == 0
    own.close()


def test_what_is_known_of_folders_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_KNOWN_MAX", 3)
    own = temp.claim(tmp_path)
    writer = Writer(tmp_path, own)
    for number in range(10):
        writer.put_new(f"{number}/object", [b"1"])
        assert len(writer._durable) <= 3
    own.close()
