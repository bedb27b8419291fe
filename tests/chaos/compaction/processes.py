"""The processes of a cluster that compacts: brokers, compactors, and a catalogue; all can be killed.

Somebody else may kill one (`doom`); whoever waits for that calls `fallen`, and `start` begins the next life.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.brokers import free_port
from tests.chaos.compaction.doom import WORKER_PROGRAM
from tests.chaos.compaction.doomed_workers import ORDER_VARIABLE
from tests.chaos.compaction.kin import is_halted
from tests.oracle.environment import ROOT

_HOST = "127.0.0.1"
_START_S = 90.0
_END_S = 60.0


class Life:
    """A process, through any number of lives; `ready` is in the first line it writes."""

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
        """Start it and wait until it says that it is there."""
        with self.log.open("a") as errors:
            self._process = self._spawn(errors)
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert self._ready in line, f"{self.name}: {line}{self.log.read_text()[-3000:]}"

    def _spawn(self, errors: IO[str]) -> "subprocess.Popen[str]":
        # Spark and Python leave their files where they are told to; a killed process cannot remove them.
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
        self.fallen()

    def end(self) -> None:
        """Kill it if it runs, however it fares."""
        if self._process is not None:
            self._process.kill()
            self._ended(_END_S)

    def fallen(self, within_s: float = _END_S) -> None:
        """Wait until it has been killed."""
        code = self._ended(within_s)
        self.deaths += 1
        assert code == -signal.SIGKILL, f"{self.name} ended with {code}: {self.log.read_text()[-3000:]}"

    def stop(self) -> None:
        """Have it end by itself, and see that it does."""
        os.kill(self.pid, signal.SIGTERM)
        code = self._ended(_END_S)
        assert code == 0, f"{self.name} ended with {code}: {self.log.read_text()[-3000:]}"

    def halt(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    @property
    def is_halted(self) -> bool:
        return is_halted(self.pid)

    @property
    def _running(self) -> "subprocess.Popen[str]":
        assert self._process is not None, f"{self.name} does not run"
        return self._process

    def _ended(self, within_s: float) -> int:
        process = self._running
        code = process.wait(within_s)
        assert process.stdout is not None
        process.stdout.close()
        self._process = None
        return code


class Broker(Life):
    """A broker that serves what is in the stores of a settings file."""

    def __init__(self, number: int, directory: Path, config: Path) -> None:
        self.address = f"{_HOST}:{free_port()}"
        command = [
            *(sys.executable, "-m", "dray", "broker", "--config", str(config), "--broker-id", str(number)),
            *("--listen", self.address, "--http", f"{_HOST}:0"),
        ]
        super().__init__(f"broker{number}", command, directory, "Kafka is on")


class CompactorProcess(Life):
    """A compactor that takes orders to strike, and whose Spark workers do."""

    def __init__(self, number: int, directory: Path, config: Path, program: Sequence[str]) -> None:
        name = f"compactor{number}"
        self.order, self.worker_order = directory / f"{name}.order", directory / f"{name}.worker.order"
        conf = {
            "spark.python.daemon.module": WORKER_PROGRAM,
            "spark.executorEnv.PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
            f"spark.executorEnv.{ORDER_VARIABLE}": str(self.worker_order),
        }
        pairs = "; ".join(f"{key}={value}" for key, value in conf.items())
        command = [
            *(sys.executable, "-m", *program, str(self.order)),
            *("compactor", "--config", str(config), "--set", f"spark.conf={pairs}"),
        ]
        super().__init__(name, command, directory, "compacting")
