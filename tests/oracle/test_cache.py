"""Cached artifacts: built once, completely or not at all, and rebuilt when their sources change."""

import threading
from pathlib import Path

import pytest

from tests.oracle.cache import made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source"
    file.write_text("one")
    return file


class Maker:
    """Copies the source and counts its calls."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self.count = 0

    def __call__(self, folder: Path) -> None:
        self.count += 1
        (folder / "copy").write_text(self._source.read_text())


def test_artifact_is_built_once(source: Path, tmp_path: Path) -> None:
    make = Maker(source)
    folders = {made("thing", [source], make, tmp_path / "cache") for _ in range(3)}
    assert folders == {tmp_path / "cache" / "thing"}
    assert make.count == 1


def test_changed_source_rebuilds_the_artifact(source: Path, tmp_path: Path) -> None:
    make = Maker(source)
    made("thing", [source], make, tmp_path / "cache")
    source.write_text("two")
    folder = made("thing", [source], make, tmp_path / "cache")
    assert (folder / "copy").read_text() == "two"


def test_failed_build_leaves_no_artifact(source: Path, tmp_path: Path) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise RuntimeError("no network")

    with pytest.raises(RuntimeError):
        made("thing", [source], fail, tmp_path / "cache")
    assert not (tmp_path / "cache" / "thing").exists()
    folder = made("thing", [source], Maker(source), tmp_path / "cache")
    assert sorted(path.name for path in folder.iterdir()) == ["copy", "made-from"]


def test_concurrent_callers_build_an_artifact_once(source: Path, tmp_path: Path) -> None:
    make, gate = Maker(source), threading.Barrier(2)

    def ask() -> None:
        gate.wait()
        made("thing", [source], make, tmp_path / "cache")

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert make.count == 1
