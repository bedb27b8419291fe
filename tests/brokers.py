"""Broker processes that can be killed and started again on the same stores."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dray.testing.ports import free_port

_ROOT = Path(__file__).parents[1]
_HOST = "127.0.0.1"


def environment_of(tree: Path) -> dict[str, str]:
    """Return an environment in which Python imports our package from this folder."""
    return {**os.environ, "PYTHONPATH": str(tree)}


class BrokerProcess:
    """A broker that can be killed and restarted."""

    tree: Path | None = None
    """Another build to run: the folder of its package; by default that of the tests."""

    def __init__(self, number: int, directory: Path, options: Sequence[str]) -> None:
        self.address = f"{_HOST}:{free_port()}"
        self._command = [
            *(sys.executable, "-m", "dray", "up", "--no-compaction"),
            *("--broker-id", str(number), "--listen", self.address, "--http", f"{_HOST}:0"),
            *("--data-dir", str(directory), "--set", "metadata.session_ttl_ms=2000"),
            *options,
        ]
        self._log = directory / f"broker{number}.log"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it and wait until it serves."""
        with self._log.open("a") as errors:
            self._process = subprocess.Popen(
                self._command,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=_ROOT,
                env=None if self.tree is None else environment_of(self.tree),
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert "Kafka API on" in line, f"{line}{self._log.read_text()[-2000:]}"

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        if self._process is not None:
            self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        os.kill(self._process.pid, number)
        self._process.wait(timeout=30)
        self._process.stdout.close()
        self._process = None


@contextmanager
def running_brokers(
    count: int, directory: Path, options: Sequence[str] = (), tree: Path | None = None
) -> Iterator[list[BrokerProcess]]:
    directory.mkdir(exist_ok=True)
    brokers = [BrokerProcess(number + 1, directory, options) for number in range(count)]
    try:
        for broker in brokers:
            broker.tree = tree
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.stop()
