"""Scratch folders: kept while their process lives, removed by the next start after a kill."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.spark.scratch import ScratchFolder

_HOLDER = """
import sys, tempfile
from dray.spark.scratch import ScratchFolder
tempfile.tempdir = sys.argv[1]
print(ScratchFolder.make().path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder(here: Path) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-c", _HOLDER, str(here)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_remove_deletes_the_folder_and_may_be_repeated() -> None:
    own = ScratchFolder.make()
    (own.path / "file").write_bytes(b"x")
    own.remove()
    own.remove()
    assert not own.path.exists()


def test_only_folders_of_killed_processes_are_removed(here: Path, holder: "subprocess.Popen[str]") -> None:
    assert holder.stdout is not None
    left = Path(holder.stdout.readline().strip())
    (here / "dray-spark-other").mkdir()  # like one that is being created
    first = ScratchFolder.make()
    assert left.is_dir()
    holder.kill()
    holder.wait()
    second = ScratchFolder.make()
    there = {path.name for path in here.iterdir()}
    assert there == {first.path.name, second.path.name, "dray-spark-other"}
    first.remove()
    second.remove()
