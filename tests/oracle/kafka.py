"""Real Apache Kafka broker to compare Dray with.

`serve(directory)` formats a one-node cluster, starts it on free ports of 127.0.0.1, waits until it answers
a Kafka request, and kills it on exit (its data belongs to the test). Settings are Kafka's defaults except
for those that a single node needs and those passed by the caller. A caller may add listeners, named after
their protocols.
"""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dray.testing.ports import free_ports
from tests.oracle.jars import VERSION, java
from tests.oracle.raw import RawConnection, RawError

CLUSTER_ID: Final = "dray-tests-cluster-000"
_READY_S: Final = 120.0
_STARTS_MAX: Final = 3
_BROKER_OPTIONS: Final = ("-Xmx768M", "-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_API_VERSIONS_V0: Final = bytes.fromhex("0012 0000 00000007 ffff")


class KafkaError(RuntimeError):
    """The broker did not start; the message ends with its last output."""


@dataclass(frozen=True, slots=True)
class Kafka:
    """A running broker."""

    bootstrap: str
    pid: int
    version: str = VERSION
    listeners: Mapping[str, str] = field(default_factory=dict)
    """The addresses of further listeners."""

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)


@contextmanager
def serve(
    directory: Path, settings: Mapping[str, str] | None = None, listeners: Sequence[str] = ()
) -> Iterator[Kafka]:
    """Run a broker with its files in `directory`, which must be empty or missing."""
    directory.mkdir(parents=True, exist_ok=True)
    process, broker = _start(directory, settings or {}, listeners)
    try:
        yield broker
    finally:
        process.kill()
        process.wait()


def answers(address: tuple[str, int]) -> bool:
    """Whether a broker at that address answers ApiVersions."""
    try:
        with RawConnection.open(address, timeout_s=2) as connection:
            return connection.exchange(_API_VERSIONS_V0)[:6] == bytes.fromhex("00000007 0000")
    except RawError:
        return False


def _start(
    directory: Path, settings: Mapping[str, str], listeners: Sequence[str]
) -> tuple["subprocess.Popen[bytes]", Kafka]:
    for attempt in range(_STARTS_MAX):
        home = directory / str(attempt)
        home.mkdir()
        further = dict(zip(listeners, free_ports(len(listeners)), strict=True))
        port = configure(home, settings, further)
        format_storage(home)
        process = _spawn(home)
        if _wait_ready(process, ("127.0.0.1", port)):
            addresses = {name: f"127.0.0.1:{number}" for name, number in further.items()}
            return process, Kafka(f"127.0.0.1:{port}", process.pid, listeners=addresses)
        # Most likely another process took one of the ports.
        process.kill()
        process.wait()
    log = (directory / str(_STARTS_MAX - 1) / "log").read_text(errors="replace")
    raise KafkaError(f"Kafka did not come up in {_STARTS_MAX} attempts; it wrote last:\n{log[-3000:]}")


def configure(
    home: Path, given: Mapping[str, str] | None = None, further: Mapping[str, int] | None = None
) -> int:
    """Write the settings of a single node that keeps everything in `home`; returns its port.

    `further` are ports of more listeners.
    """
    port, controller = free_ports(2)
    clients = {"PLAINTEXT": port, **(further or {})}
    listeners = ",".join(f"{name}://127.0.0.1:{number}" for name, number in clients.items())
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "log.dirs": str(home / "data"),
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        **(given or {}),
    }
    text = "".join(f"{name}={value}\n" for name, value in settings.items())
    (home / "server.properties").write_text(text)
    return port


def format_storage(home: Path) -> None:
    """Format the storage of a configured node."""
    command = java(
        "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(home / "server.properties")
    )
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_READY_S, check=False)
    if ran.returncode:
        raise KafkaError(f"formatting failed with {ran.returncode}:\n{(ran.stdout + ran.stderr)[-3000:]}")


def _spawn(home: Path) -> "subprocess.Popen[bytes]":
    command = java("kafka.Kafka", str(home / "server.properties"), options=_BROKER_OPTIONS)
    with (home / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=home,
            env=os.environ | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


def _wait_ready(process: "subprocess.Popen[bytes]", address: tuple[str, int]) -> bool:
    deadline = time.monotonic() + _READY_S
    while process.poll() is None and time.monotonic() < deadline:
        if answers(address):
            return True
        time.sleep(0.1)
    return False
