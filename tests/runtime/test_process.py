"""Interpreter settings of a serving process, checked in a subprocess."""

import subprocess
import sys

_PROGRAM = """
import gc, sys
from dray.runtime import tune_interpreter
tune_interpreter()
print(sys.getswitchinterval() < 0.001, gc.get_freeze_count() > 1000)
print(gc.get_threshold()[0] > 700, gc.isenabled())
"""


def test_tuned_interpreter_switches_threads_quickly_and_collects_rarely() -> None:
    printed = subprocess.run([sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True)
    assert printed.stdout.split() == ["True"] * 4
