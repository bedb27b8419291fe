"""Detection of toolchains that are installed, complete and new enough."""

import os
from pathlib import Path

import pytest

from tests.oracle.toolchains import toolchain


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of version 17.0.2, with only the shell next to it on the path."""
    file = tmp_path / "tool"
    file.write_text('#!/bin/sh\necho "tool version \\"17.0.2\\" of $1" >&2\n')
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    return file


@pytest.mark.parametrize("least", [(17,), (17, 0, 2), (9,)])
def test_version_that_is_new_enough_is_found(tool: Path, least: tuple[int, ...]) -> None:
    assert toolchain("tool", "-version", least=least)() == tool


@pytest.mark.parametrize("least", [(18,), (17, 1)])
def test_version_that_is_too_old_is_not_found(tool: Path, least: tuple[int, ...]) -> None:
    assert toolchain("tool", "-version", least=least)() is None


def test_missing_or_incomplete_toolchain_is_not_found(tool: Path) -> None:
    assert toolchain("no-such-tool", least=(1,))() is None
    assert toolchain("tool", least=(17,), beside=("no-such-tool",))() is None


def test_program_that_does_not_run_is_not_found(tool: Path) -> None:
    tool.write_text("#!/no/such/shell\n")
    assert toolchain("tool", "--version", least=(1,))() is None
