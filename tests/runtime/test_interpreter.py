"""What a serving process sets up, seen from a process of its own."""

import subprocess
import sys

_PROGRAM = """
import gc, sys
from dray.runtime import set_up_interpreter
set_up_interpreter()
print(sys.getswitchinterval() < 0.001, gc.get_freeze_count() > 1000)
print(gc.get_threshold()[0] > 700, gc.isenabled())
"""


def test_threads_come_soon_and_the_collector_seldom() -> None:
    told = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["True"] * 4
