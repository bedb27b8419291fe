"""Generated message classes, which are up to date."""

from pathlib import Path

import pytest

from scripts import generate_wire


@pytest.mark.slow
def test_checked_in_modules_are_up_to_date() -> None:
    assert generate_wire.stale(generate_wire.APIS) == ({}, [])


def test_stale_missing_and_leftover_modules_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate_wire, "APIS", tmp_path)
    monkeypatch.setattr(generate_wire, "pages", lambda: {"fetch.py": "new\n", "produce.py": "same\n"})
    (tmp_path / "fetch.py").write_text("old\n")
    (tmp_path / "produce.py").write_text("same\n")
    (tmp_path / "gone.py").write_text("what was\n")
    assert generate_wire.main(["--check"]) == 1
    said = capsys.readouterr().out
    assert all(f"{name} is stale" in said for name in ("fetch.py", "gone.py", "__init__.py"))
    assert "produce.py" not in said
    assert generate_wire.main([]) == 0
    assert generate_wire.main(["--check"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["__init__.py", "fetch.py", "produce.py"]
    assert (tmp_path / "fetch.py").read_text() == "new\n"
