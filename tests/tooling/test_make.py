"""Make targets: all are listed, and a failing check does not hide the others."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def make(*arguments: str) -> str:
    """Return the output of make, without the environment of a make that started the tests."""
    return subprocess.run(
        ["make", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout


def test_help_is_the_default_and_lists_every_target() -> None:
    declared = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert declared
    lines = dict(re.findall(r"^  make (\S+) +(\S.*)$", make(), re.MULTILINE))
    assert list(lines) == declared[1].split()


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("sim SEEDS=7", r"-m dray\.testing\.sim log --seeds 7"),
        ("bench", r"-m benchmarks"),
    ],
)
def test_every_target_creates_the_venv_first(target: str, command: str) -> None:
    shown = make("-n", *target.split()).splitlines()
    assert shown[0] == "scripts/bootstrap"
    assert re.search(command, shown[-1])


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("test-quick", r"-m 'not slow and not real' tests"),
        ("up", r"dray up"),
        ("check", r"scripts/check"),
    ],
)
def test_target_that_runs_spark_creates_the_venv_with_spark(target: str, command: str) -> None:
    shown = make("-n", target).splitlines()
    assert shown[0] == "scripts/bootstrap spark"
    assert re.search(command, shown[-1])


def test_every_test_is_run_by_exactly_one_pass() -> None:
    quick, other = [line for line in make("-n", "test").splitlines() if " -m pytest " in line]
    assert re.search(r"-n 2 .*--cov .*-m 'not slow and not real' tests \|\| failed=1", quick)
    assert re.search(r"-n 2 .*-m 'not \(''not slow and not real''\)' tests \|\| failed=1", other)
    assert "--cov" not in other


def test_continuous_integration_runs_the_same() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make check test"


CHECKS = (
    "format",
    "lint",
    "types",
    "layers",
    "locks",
    "packages",
    "words",
    "docs",
    "pages",
    "wire",
    "protobuf",
)


@pytest.fixture
def checked_tree(tmp_path: Path) -> Path:
    """A tree whose tools only print that they were called."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "check", tmp_path / "scripts")
    tools = tmp_path / ".venv" / "bin"
    tools.mkdir(parents=True)
    for name in ("ruff", "mypy", "lint-imports", "uv", "python"):
        (tools / name).write_text(f'#!/bin/bash\necho "output of {name} $*"\n[[ "{name}" != "$BROKEN" ]]\n')
        (tools / name).chmod(0o755)
    return tmp_path


def run_checks(tree: Path, broken: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(tree / "scripts" / "check")],
        env={"PATH": os.environ["PATH"], "BROKEN": broken},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_failing_check_is_shown_and_the_others_still_run(checked_tree: Path) -> None:
    result = run_checks(checked_tree, broken="mypy")
    assert result.returncode == 1
    steps = re.findall(r"^check: (\w+) +(ok|FAILED)", result.stdout, re.MULTILINE)
    assert dict(steps) == {name: "FAILED" if name == "types" else "ok" for name in CHECKS}
    assert "output of mypy" in result.stdout
    assert result.stderr == "check: failed: types\n"


def test_checks_that_pass_are_one_line_each(checked_tree: Path) -> None:
    result = run_checks(checked_tree, broken="none")
    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == len(CHECKS)
