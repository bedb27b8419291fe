"""Folders of sessions: those of the living stay, those of the killed go with the next start."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dray.pipeline.spark.own_folder import OwnFolder

_HOLDER = """
import sys, tempfile
from dray.pipeline.spark.own_folder import OwnFolder
tempfile.tempdir = sys.argv[1]
print(OwnFolder.make().path, flush=True)
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


def test_a_folder_goes_when_it_is_removed() -> None:
    own = OwnFolder.make()
    (own.path / "file").write_bytes(b"x")
    own.remove()
    own.remove()
    assert not own.path.exists()


def test_only_the_folder_of_a_killed_process_is_cleared_up(
    here: Path, holder: "subprocess.Popen[str]"
) -> None:
    assert holder.stdout is not None
    left = Path(holder.stdout.readline().strip())
    (here / "dray-spark-other").mkdir()  # as one that is being made
    first = OwnFolder.make()
    assert left.is_dir()
    holder.kill()
    holder.wait()
    second = OwnFolder.make()
    there = {path.name for path in here.iterdir()}
    assert there == {first.path.name, second.path.name, "dray-spark-other"}
    first.remove()
    second.remove()
