"""Cleanup of an interrupted soak: no child process keeps running."""

import signal
import subprocess
import sys

import pytest

from tests.cli.up_process import wait_until_exited

_PROGRAM = """
import os, subprocess, sys, threading
from tests.chaos.cleanup import kill_children_on_exit

def sleeper():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    os.write(1, b"%d\\n" % child.pid)  # one atomic write: two threads do this
    child.wait()

kill_children_on_exit()
threading.Thread(target=sleeper, daemon=True).start()
sleeper()
"""


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signal_kills_all_children(how: signal.Signals) -> None:
    ignoring = (
        f"import signal; signal.signal({int(how)}, signal.SIG_IGN)\n{_PROGRAM}"  # as a background job does
    )
    with subprocess.Popen(
        [sys.executable, "-c", ignoring], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as soak:
        assert soak.stdout is not None
        sleepers = [int(soak.stdout.readline()) for _ in range(2)]
        soak.send_signal(how)
        soak.wait(30)
        assert soak.returncode != 0
        wait_until_exited(sleepers)
