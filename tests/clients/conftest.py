"""Fixtures of the client tests: the broker, and the client programs, each started once per worker."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.brokers import running_brokers
from tests.clients.process import ClientProcess
from tests.clients.registry import CLIENTS
from tests.clients.security import Security
from tests.clients.target import EXTERNAL
from tests.clients.topics import new_name
from tests.oracle.fixtures import apache_kafka

__all__ = ["apache_kafka"]

GROUPS: Final = (
    *("--set", "groups.initial_rebalance_delay_ms=0"),
    *("--set", "groups.consumer_session_timeout_ms=6000"),
    *("--set", "groups.consumer_min_session_timeout_ms=6000"),
    *("--set", "groups.consumer_heartbeat_interval_ms=500"),
    *("--set", "groups.consumer_min_heartbeat_interval_ms=500"),
)
"""The shortest session that Kafka allows a classic group by default, for groups of either protocol."""


class Programs:
    """The running client programs; one that failed or was abandoned mid-read is restarted."""

    def __init__(self, bootstrap: str, logs: Path, login: Callable[[str], Security] | None = None) -> None:
        """`login` returns the security settings of a library; without it they connect in plain text."""
        self._bootstrap = bootstrap
        self._logs = logs
        self._login = login
        self._running: dict[str, ClientProcess] = {}

    def __getitem__(self, name: str) -> ClientProcess:
        running = self._running.get(name)
        if running is None or not running.idle:
            self._stop(name)
            command = CLIENTS[name].command(self._bootstrap)
            if self._login is not None:
                command.append(str(self._login(name).written(self._logs / f"{name}.json")))
            running = self._running[name] = ClientProcess(command, self._logs / f"{name}.log")
        return running

    def close(self) -> None:
        for name in list(self._running):
            self._stop(name)

    def _stop(self, name: str) -> None:
        if running := self._running.pop(name, None):
            running.close()


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The broker under test: the one named by the environment, or else a Dray process."""
    if EXTERNAL:
        yield EXTERNAL
        return
    with running_brokers(1, tmp_path_factory.mktemp("dray"), GROUPS) as (broker,):
        yield broker.address


@pytest.fixture(scope="session")
def programs(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    running = Programs(bootstrap, tmp_path_factory.mktemp("clients"))
    yield running
    running.close()


@pytest.fixture
def topic() -> str:
    return new_name()
