"""Spark's start and end: nothing is left of it, however it ends."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.pipeline.spark.jvm import Address, Jvm, SparkFailed
from dray.pipeline.spark.settings import SparkSettings
from dray.runtime import SystemClock
from tests.pipeline.spark.conftest import CACHE_FOLDER
from tests.pipeline.spark.processes import all_gone, below

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.real("java", "spark")
SETTINGS = SparkSettings(master="local[2,3]")


class Stopped(Exception):
    """The clock of a test has seen enough."""


class StoppingClock(SystemClock):
    """Stops whoever sleeps the second time: the JVM is under way by then, and says nothing yet."""

    def __init__(self) -> None:
        self.below: set[int] = set()
        self.before = below(os.getpid())
        """Whatever other tests have running."""
        self._slept = 0

    async def sleep(self, seconds: float) -> None:
        self._slept += 1
        if self._slept > 1:
            self.below = below(os.getpid()) - self.before
            raise Stopped
        await super().sleep(seconds)


def left_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def workers(session: "SparkSession") -> int:
    return session.range(0, 4, 1, 4).mapInArrow(lambda batches: batches, "id bigint").count()


async def test_a_master_that_does_not_answer_is_told_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.pipeline.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"spark://127.0.0.1:{server.getsockname()[1]}"
    clock = StoppingClock()
    with pytest.raises(SparkFailed, match="no Spark master answers"):
        await SparkHost.start(SparkSettings(master=silent), CACHE_FOLDER, clock)
    assert left_in(tmp_path) == []
    assert below(os.getpid()) == clock.before


async def test_nothing_is_left_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from dray.pipeline.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    host = await SparkHost.start(SETTINGS, CACHE_FOLDER, SystemClock())
    assert await host.run(workers, host.session) == 4
    assert await host.run(lambda: host.session.sparkContext.getConf().get("spark.driver.host")) == "127.0.0.1"
    running = below(host.pid)
    assert len(running) > 2  # the JVM, the daemon, and a worker
    assert left_in(tmp_path)
    await host.close()
    assert all_gone(running)
    assert not left_in(tmp_path)
    assert capfd.readouterr() == ("", "")


async def test_a_start_that_is_given_up_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.pipeline.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    clock = StoppingClock()
    with pytest.raises(Stopped):
        await SparkHost.start(SETTINGS, CACHE_FOLDER, clock)
    assert clock.below
    assert all_gone(clock.below)
    assert not left_in(tmp_path)


async def test_a_start_that_is_cancelled_while_it_connects_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.pipeline.spark import session

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    connecting = asyncio.Event()
    loop, connect = asyncio.get_running_loop(), session._connect
    seen: set[int] = set()

    def told(address: Address, jvm: Jvm) -> "SparkSession":
        seen.update(below(jvm.pid))
        loop.call_soon_threadsafe(connecting.set)
        return connect(address, jvm)

    monkeypatch.setattr(session, "_connect", told)
    starting = asyncio.create_task(session.SparkHost.start(SETTINGS, CACHE_FOLDER, SystemClock()))
    await connecting.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert seen
    assert all_gone(seen)
    assert not left_in(tmp_path)


async def test_a_spark_that_cannot_start_says_why(tmp_path: Path) -> None:
    from dray.pipeline.spark.session import SparkHost

    settings = SparkSettings(conf="spark.driver.extraJavaOptions=-Xms2g")
    with pytest.raises(SparkFailed, match=r"ended at its start; .*heap size"):
        await SparkHost.start(settings, tmp_path, SystemClock())
