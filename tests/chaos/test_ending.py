"""A soak that is told to end leaves nobody behind."""

import signal
import subprocess
import sys

import pytest

from tests.cli.up_process import wait_until_gone

_PROGRAM = """
import os, subprocess, sys, threading
from tests.chaos.ending import end_with_children

def sleeper():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    os.write(1, b"%d\\n" % child.pid)  # in one go: there are two of us
    child.wait()

end_with_children()
threading.Thread(target=sleeper, daemon=True).start()
sleeper()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_takes_its_children_with_it(how: signal.Signals) -> None:
    ignoring = f"import signal; signal.signal({int(how)}, signal.SIG_IGN)\n{_PROGRAM}"  # as in the background
    with subprocess.Popen(
        [sys.executable, "-c", ignoring], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as soak:
        assert soak.stdout is not None
        sleepers = [int(soak.stdout.readline()) for _ in range(2)]
        soak.send_signal(how)
        soak.wait(30)
        assert soak.returncode != 0
        wait_until_gone(sleepers)
