"""Broker processes that can be killed at a failpoint, and paused."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from tests.brokers import BrokerProcess
from tests.chaos.failpoints import Point, arm

_FAILPOINT_S = 5.0
_BUSY_MS = 1_000


class Victim(BrokerProcess):
    """One broker in its own zone, so that producers of all zones write to the same partitions."""

    def __init__(self, number: int, directory: Path, options: Sequence[str], program: Sequence[str]) -> None:
        self.zone = f"z{number}"
        super().__init__(number, directory, ("--zone", self.zone, *options))
        self._metadata = directory / "metadata.sqlite"
        self._armed = directory / f"failpoint{number}"
        dray = self._command.index("dray")
        self._command = [
            *(sys.executable, "-m", *program, str(self._armed)),
            *self._command[dray + 1 :],
        ]

    @property
    def running(self) -> bool:
        return self._process is not None

    def die_at(self, point: Point, passes: int) -> bool:
        """Have it kill itself at `point`; returns False if it had to be killed elsewhere."""
        assert self._process is not None
        assert self._process.stdout is not None
        arm(self._armed, point, passes)
        try:
            self._process.wait(_FAILPOINT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            return False
        finally:
            self._armed.unlink(missing_ok=True)
        assert self._process.returncode == -signal.SIGKILL, f"it exited with {self._process.returncode}"
        self._process.stdout.close()
        self._process = None
        return True

    def pause(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)

    def pause_between_commits(self) -> None:
        """Pause it where it does not hold the write lock of the metadata store it shares with the others."""
        self.pause()
        while not self._others_can_write():
            self.resume()
            time.sleep(0.01)
            self.pause()

    def _others_can_write(self) -> bool:
        db = apsw.Connection(str(self._metadata), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.set_busy_timeout(_BUSY_MS)
            db.execute("BEGIN IMMEDIATE")
            db.execute("ROLLBACK")
        except apsw.BusyError:
            return False
        finally:
            db.close()
        return True

    def resume(self) -> None:
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGCONT)


@contextmanager
def running_victims(
    count: int, directory: Path, options: Sequence[str], program: Sequence[str]
) -> Iterator[list[Victim]]:
    directory.mkdir(exist_ok=True)
    victims = [Victim(number + 1, directory, options, program) for number in range(count)]
    try:
        for victim in victims:
            victim.start()
        yield victims
    finally:
        for victim in victims:
            if victim.running:
                victim.kill()
