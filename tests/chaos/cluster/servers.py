"""Servers of the cluster: each a process on its node, which faults may kill, pause and start again.

Starting does not wait: a broker may be started while its stores cannot be reached. A process that ends by
itself is started again, as a service manager would do.
"""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.oracle.environment import ROOT
from tests.spark.processes import becomes_true

_RESTART_S: Final = 1.0
_POLL_S: Final = 0.1


class NotReady(Exception):
    """A server did not begin to serve in time; the message ends with its log."""


class Server:
    """One process, with its output in `<name>.log`."""

    def __init__(
        self, name: str, command: Sequence[str], directory: Path, environment: Mapping[str, str]
    ) -> None:
        self.name = name
        self.log = directory / f"{name}.log"
        self.exits: list[str] = []
        """Exits that no fault has caused."""
        self._command = list(command)
        self._environment = {**os.environ, "TMPDIR": str(directory), **environment}
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def start(self) -> None:
        with self._lock:
            if self._process is None:
                self._spawn()

    def kill(self) -> None:
        with self._lock:
            self._end(signal.SIGKILL)

    def stop(self, within_s: float = 60.0) -> int:
        """Ask it to end, and return its exit code."""
        with self._lock:
            return self._end(signal.SIGTERM, within_s)

    def wait(self, within_s: float) -> int:
        """Wait until it ends by itself, and return its exit code."""
        with self._lock:
            assert self._process is not None
            code = self._process.wait(within_s)
            self._process = None
            return code

    def pause(self) -> None:
        self.send(signal.SIGSTOP)

    def resume(self) -> None:
        self.send(signal.SIGCONT)

    def send(self, number: signal.Signals) -> None:
        with self._lock:
            if self._process is not None:
                self._process.send_signal(number)

    def restart_if_exited(self) -> None:
        with self._lock:
            if self._process is not None and self._process.poll() is not None:
                last = self.log.read_text(errors="replace").strip().rpartition("\n")[2][-300:]
                self.exits.append(f"{self.name} exited with {self._process.returncode}: {last}")
                time.sleep(_RESTART_S)  # as a service manager does
                self._spawn()

    def wait_serving(self, address: str, within_s: float) -> None:
        """Wait until it accepts connections."""
        host, _, port = address.partition(":")

        def accepts() -> bool:
            if self._process is None or self._process.poll() is not None:
                return False
            with socket.socket() as probe:
                probe.settimeout(1)
                return probe.connect_ex((host, int(port))) == 0

        if not becomes_true(accepts, within_s):
            log = self.log.read_text(errors="replace")[-2000:]
            raise NotReady(f"{self.name} does not accept connections after {within_s} s:\n{log}")

    def _spawn(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
                env=self._environment,
            )

    def _end(self, number: signal.Signals, within_s: float = 60.0) -> int:
        if self._process is None:
            return 0
        self._process.send_signal(signal.SIGCONT)
        self._process.send_signal(number)
        code = self._process.wait(within_s)
        self._process = None
        return code


class Watchdog(threading.Thread):
    """Starts servers again that have exited."""

    def __init__(self, servers: Sequence[Server]) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._servers = servers
        self._stopping = threading.Event()

    def run(self) -> None:
        while not self._stopping.wait(_POLL_S):
            for server in self._servers:
                server.restart_if_exited()

    def stop(self) -> None:
        self._stopping.set()
        self.join()
