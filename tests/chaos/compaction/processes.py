"""Processes of a cluster under test: brokers, compactors and a catalog, which can be killed and restarted.

When a failpoint in another process kills one, call `wait_killed` before `start`.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from dray.testing.ports import free_port
from tests.chaos.compaction.failpoints import WORKER_PROGRAM
from tests.chaos.compaction.instrumented_workers import ARMED_VARIABLE
from tests.chaos.compaction.process_tree import is_stopped
from tests.oracle.environment import ROOT

_HOST = "127.0.0.1"
_START_S = 90.0
_END_S = 60.0


class ServerProcess:
    """A process that can be restarted; the first line it prints contains `ready`."""

    def __init__(self, name: str, command: Sequence[str], directory: Path, ready: str) -> None:
        self.name = name
        self.deaths = 0
        self._command = list(command)
        self._directory = directory
        self._ready = ready
        self._process: subprocess.Popen[str] | None = None

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def log(self) -> Path:
        return self._directory / f"{self.name}.log"

    def start(self) -> None:
        """Start it and wait until it reports that it is ready."""
        with self.log.open("a") as errors:
            self._process = self._spawn(errors)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert self._ready in line, f"{self.name}: {line}{self.log.read_text()[-3000:]}"

    def _spawn(self, errors: IO[str]) -> "subprocess.Popen[str]":
        # Spark and Python keep temporary files here; a killed process cannot remove them.
        environ = {**os.environ, "TMPDIR": str(self._directory)}
        return subprocess.Popen(
            self._command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env=environ,
        )

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait_killed()

    def end(self) -> None:
        """Kill it if it is running."""
        if self._process is not None:
            self._process.kill()
            self._ended(_END_S)

    def wait_killed(self, within_s: float = _END_S) -> None:
        """Wait until SIGKILL has ended it."""
        code = self._ended(within_s)
        self.deaths += 1
        assert code == -signal.SIGKILL, f"{self.name} exited with {code}: {self.log.read_text()[-3000:]}"

    def stop(self) -> None:
        """Shut it down gracefully and check its exit code."""
        os.kill(self.pid, signal.SIGTERM)
        code = self._ended(_END_S)
        assert code == 0, f"{self.name} exited with {code}: {self.log.read_text()[-3000:]}"

    def pause(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @property
    def is_paused(self) -> bool:
        return is_stopped(self.pid)

    @property
    def _running(self) -> "subprocess.Popen[str]":
        assert self._process is not None, f"{self.name} is not running"
        return self._process

    def _ended(self, within_s: float) -> int:
        process = self._running
        code = process.wait(within_s)
        assert process.stdout is not None
        process.stdout.close()
        self._process = None
        return code


class Broker(ServerProcess):
    """A broker on the stores of a settings file."""

    def __init__(self, number: int, directory: Path, config: Path) -> None:
        self.address = f"{_HOST}:{free_port()}"
        command = [
            *(sys.executable, "-m", "dray", "broker", "--config", str(config), "--broker-id", str(number)),
            *("--listen", self.address, "--http", f"{_HOST}:0"),
        ]
        super().__init__(f"broker{number}", command, directory, "Kafka API on")


class CompactorProcess(ServerProcess):
    """A compactor with failpoints, also in its Spark workers."""

    def __init__(self, number: int, directory: Path, config: Path, program: Sequence[str]) -> None:
        name = f"compactor{number}"
        self.armed, self.worker_armed = directory / f"{name}.armed", directory / f"{name}.worker.armed"
        conf = {
            "spark.python.daemon.module": WORKER_PROGRAM,
            "spark.executorEnv.PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
            f"spark.executorEnv.{ARMED_VARIABLE}": str(self.worker_armed),
        }
        pairs = "; ".join(f"{key}={value}" for key, value in conf.items())
        command = [
            *(sys.executable, "-m", *program, str(self.armed)),
            *("compactor", "--config", str(config), "--set", f"spark.conf={pairs}"),
        ]
        super().__init__(name, command, directory, "compacting")
