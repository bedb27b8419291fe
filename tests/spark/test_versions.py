"""The run with another Spark: what fails is told, and it is that Spark."""

from pathlib import Path

import pytest

from tests.spark import versions

TESTS = "def test_good(): pass\ndef test_bad(): assert 1 == 2\n"


@pytest.mark.slow
def test_what_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = tmp_path / "test_some.py"
    tests.write_text(TESTS)
    monkeypatch.setattr(versions, "_installed", lambda *_: tmp_path)
    monkeypatch.setattr(versions, "_imported", lambda _, version: f"{version}.1")
    said: list[str] = []

    monkeypatch.setattr(versions, "_TESTS", (f"{tests}::test_good",))
    assert versions.passes_with("9.9", tmp_path, said.append) == ()
    assert said[0] == "tests run with pyspark 9.9.1"
    assert said[1].startswith("1 passed")

    monkeypatch.setattr(versions, "_TESTS", (str(tests),))
    (told,) = versions.passes_with("9.9", tmp_path, said.append)
    assert "test_bad" in told

    monkeypatch.setattr(versions, "_TESTS", (f"{tests}::test_none",))
    assert versions.passes_with("9.9", tmp_path, said.append) != ()


@pytest.mark.real("spark")
def test_another_version_than_asked_for_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_installed", lambda *_: tmp_path)
    with pytest.raises(RuntimeError, match=r"instead of 9\.9"):
        versions.passes_with("9.9", tmp_path, lambda _: None)


@pytest.mark.parametrize("version", versions.VERSIONS)
def test_each_has_a_lock(version: str) -> None:
    lock = Path(versions.__file__).parents[2] / "requirements" / f"pyspark-{version}.txt"
    assert f"\npyspark=={version}." in lock.read_text()
