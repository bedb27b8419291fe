"""Wall clocks that are moved while a process runs."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.cluster.clock import MovableClock

pytestmark = pytest.mark.real("namespaces")  # which includes a C compiler

_PROGRAM = """
import datetime, sys, time
for line in sys.stdin:
    time.sleep(0.001)
    wall = time.time(), time.time_ns() / 1e9, datetime.datetime.now().timestamp()
    print(*wall, time.monotonic(), flush=True)
"""


def test_only_the_wall_clock_of_the_process_jumps_forward_and_back(tmp_path: Path) -> None:
    clock = MovableClock(tmp_path / "clock")
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM],
        env={**os.environ, **clock.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for seconds in (0, 3600, -3600, 0):
            clock.move(seconds)
            earliest, earliest_monotonic = time.time(), time.monotonic()
            process.stdin.write("\n")
            process.stdin.flush()
            *wall, monotonic = map(float, process.stdout.readline().split())
            assert earliest_monotonic <= monotonic <= time.monotonic()
            for shown in wall:
                assert earliest - 0.001 <= shown - seconds <= time.time() + 0.001
        process.stdin.close()
