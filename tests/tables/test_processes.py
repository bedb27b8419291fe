"""Processes that die at any moment, or race each other: every job is in the table once."""

import subprocess
import sys
from pathlib import Path

import pytest

from dray.runtime import SystemClock, SystemEntropy
from dray.tables.iceberg import IcebergTables
from dray.testing.contracts.tables import live
from tests.tables.appending_process import TABLE, settings, work

pytestmark = pytest.mark.slow

JOBS = 12


def start(folder: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.tables.appending_process"]
    arguments = [str(folder / "catalog.db"), str(folder / "store"), str(JOBS)]
    return subprocess.Popen([*command, *arguments], stdout=subprocess.PIPE, text=True)


async def check(folder: Path) -> None:
    """Each file is there once, and every snapshot is of another job."""
    tables = IcebergTables(settings(folder / "catalog.db", folder / "store"), SystemClock(), SystemEntropy())
    state = await tables.current(TABLE)
    assert state.files == tuple(live(file) for file, _ in work(JOBS))
    assert state.marks[0].job_id == f"job-{JOBS - 1}"
    await tables.close()


async def test_process_killed_again_and_again(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for done in (2, 5, 9):
        process = start(tmp_path)
        assert process.stdout is not None
        for _ in range(done):
            assert process.stdout.readline().startswith("job-")
        # It is at the next job by now: somewhere between looking and the end of its commit.
        process.kill()
        process.communicate()
    process = start(tmp_path)
    output, _ = process.communicate(timeout=100)
    assert (process.returncode, len(output.split())) == (0, JOBS)
    await check(tmp_path)


async def test_two_processes_with_the_same_jobs(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    processes = [start(tmp_path), start(tmp_path)]
    for process in processes:
        output, _ = process.communicate(timeout=100)
        assert (process.returncode, len(output.split())) == (0, JOBS)
    await check(tmp_path)
