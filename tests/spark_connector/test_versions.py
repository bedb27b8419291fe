"""Runs of the Spark tests with another version: failures are reported, and the version is checked."""

from pathlib import Path

import pytest

from tests.spark_connector import versions

TESTS = "def test_good(): pass\ndef test_bad(): assert 1 == 2\n"


@pytest.mark.slow
def test_failures_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(TESTS)
    monkeypatch.setattr(versions, "_installed", lambda *_: tmp_path)
    monkeypatch.setattr(versions, "_imported", lambda _, version: f"{version}.1")
    printed: list[str] = []

    monkeypatch.setattr(versions, "_TESTS", (f"{tests}::test_good",))
    assert versions.passes_with("9.9", tmp_path, printed.append) == ()
    assert printed[0] == "tests run with pyspark 9.9.1"
    assert printed[1].startswith("1 passed")

    monkeypatch.setattr(versions, "_TESTS", (str(tests),))
    (problem,) = versions.passes_with("9.9", tmp_path, printed.append)
    assert "test_bad" in problem

    monkeypatch.setattr(versions, "_TESTS", (f"{tests}::test_none",))
    assert versions.passes_with("9.9", tmp_path, printed.append) != ()


@pytest.mark.real("spark")
def test_unexpected_version_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_installed", lambda *_: tmp_path)
    with pytest.raises(RuntimeError, match=r"instead of 9\.9"):
        versions.passes_with("9.9", tmp_path, lambda _: None)


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_each_version_has_a_lock(version: str) -> None:
    lock = Path(versions.__file__).parents[2] / "requirements" / f"pyspark-{version}.txt"
    assert f"\npyspark=={version}." in lock.read_text()
