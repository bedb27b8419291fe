"""The two servers, each started as its user would start it: one node, default settings, a fresh directory.

Dray is `dray up` with a local directory and SQLite. Kafka is one KRaft node that is broker and controller,
with the heap and collector of `kafka-server-start.sh`; formatting its storage, a separate step there, is part
of the preparation. Their data is discarded, so they are killed.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.testing.ports import free_port
from tests.oracle.environment import ROOT, unmeasured
from tests.oracle.jars import java
from tests.oracle.kafka import answers, configure, format_storage

DRAY: Final = "Dray"
KAFKA: Final = "Kafka"
_READY_S: Final = 60.0
_POLL_S: Final = 0.05
_HOST: Final = "127.0.0.1"

JVM: Final = (
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-Djava.awt.headless=true",
)
"""Flags that `kafka-run-class.sh` passes to every Java program of Kafka, client or server."""
_BROKER_JVM: Final = ("-Xmx1G", "-Xms1G", *JVM)


class ServerFailed(RuntimeError):
    """A server did not come up; the message ends with its last output."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A server that is ready to be started."""

    name: str
    home: Path
    port: int
    command: list[str]
    security: dict[str, str] = field(default_factory=dict)
    """Settings of librdkafka for its clients."""

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self.port}"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    name: str
    bootstrap: str
    pid: int
    security: dict[str, str] = field(default_factory=dict)
    """Settings of librdkafka for its clients."""

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)


Prepare = Callable[[Path], Prepared]


def prepare_dray(home: Path, protocol: str = "PLAINTEXT", options: Sequence[str] = ()) -> Prepared:
    home.mkdir(parents=True)
    port = free_port()
    listen = ["--listen", f"{protocol}://{_HOST}:{port}", "--http", f"{_HOST}:0"]
    command = [
        sys.executable,
        "-m",
        "dray",
        "up",
        "--no-compaction",
        "--data-dir",
        str(home / "data"),
        *listen,
        *options,
    ]
    return Prepared(DRAY, home, port, command)


def prepare_kafka(home: Path, settings: Mapping[str, str] | None = None) -> Prepared:
    home.mkdir(parents=True)
    port = configure(home, settings)
    format_storage(home)
    command = java("kafka.Kafka", str(home / "server.properties"), options=_BROKER_JVM)
    return Prepared(KAFKA, home, port, command)


PREPARE: Final[dict[str, Prepare]] = {DRAY: prepare_dray, KAFKA: prepare_kafka}


@contextmanager
def started(prepared: Prepared) -> Iterator[Server]:
    """Run a server that may not accept requests yet."""
    with (prepared.home / "log").open("wb") as log:
        process = subprocess.Popen(
            prepared.command,
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield Server(prepared.name, prepared.bootstrap, process.pid, prepared.security)
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # the processes that it started too
        process.wait()


@contextmanager
def serving(prepared: Prepared, is_ready: Callable[[tuple[str, int]], bool] = answers) -> Iterator[Server]:
    """Run a server that accepts requests."""
    with started(prepared) as server:
        deadline = time.monotonic() + _READY_S
        while not is_ready(server.address):
            if time.monotonic() > deadline:
                raise ServerFailed(f"{server.name} did not come up:\n{_last_output(prepared)}")
            time.sleep(_POLL_S)
        yield server


def _last_output(prepared: Prepared) -> str:
    return (prepared.home / "log").read_text(errors="replace")[-3000:]


def _environment() -> dict[str, str]:
    """A user's environment: bytecode is cached, coverage is off, and messages are in English."""
    kept = {name: value for name, value in unmeasured().items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"LC_ALL": "C"}
