"""Start and stop of a Spark session: no process and no file stays, however it ends."""

import asyncio
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dray.runtime import SystemClock
from dray.spark.jvm import Address, Jvm, SparkFailed, java_message
from dray.spark.settings import SparkSettings
from tests.spark.conftest import CACHE_FOLDER
from tests.spark.processes import all_exited, descendants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.real("java", "spark")
SETTINGS = SparkSettings(master="local[2,3]")


class Stopped(Exception):
    """Raised by `StoppingClock`."""


class StoppingClock(SystemClock):
    """Raises `Stopped` on the second sleep: the JVM runs by then, and has not reported its address yet."""

    def __init__(self) -> None:
        self.started: set[int] = set()
        self.before = descendants(os.getpid())
        """Processes of other tests."""
        self._slept = 0

    async def sleep(self, seconds: float) -> None:
        self._slept += 1
        if self._slept > 1:
            self.started = descendants(os.getpid()) - self.before
            raise Stopped
        await super().sleep(seconds)


def files_in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def run_workers(session: "SparkSession") -> int:
    return session.range(0, 4, 1, 4).mapInArrow(lambda batches: batches, "id bigint").count()


async def test_unreachable_master_is_reported_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as server:
        silent = f"spark://127.0.0.1:{server.getsockname()[1]}"
    clock = StoppingClock()
    with pytest.raises(SparkFailed, match="cannot reach Spark master"):
        await SparkHost.start(SparkSettings(master=silent), CACHE_FOLDER, clock)
    assert files_in(tmp_path) == []
    assert descendants(os.getpid()) == clock.before


async def test_close_leaves_no_process_file_or_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    from dray.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    host = await SparkHost.start(SETTINGS, CACHE_FOLDER, SystemClock())
    assert await host.run(run_workers, host.session) == 4
    assert await host.run(lambda: host.session.sparkContext.getConf().get("spark.driver.host")) == "127.0.0.1"
    running = descendants(host.pid)
    assert len(running) > 2  # the JVM, the daemon, and a worker
    assert files_in(tmp_path)
    await host.close()
    assert all_exited(running)
    assert not files_in(tmp_path)
    assert capfd.readouterr() == ("", "")


async def test_aborted_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dray.spark.session import SparkHost

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    clock = StoppingClock()
    with pytest.raises(Stopped):
        await SparkHost.start(SETTINGS, CACHE_FOLDER, clock)
    assert clock.started
    assert all_exited(clock.started)
    assert not files_in(tmp_path)


async def test_start_cancelled_while_connecting_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dray.spark import session

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    connecting = asyncio.Event()
    loop, connect = asyncio.get_running_loop(), session._connect
    seen: set[int] = set()

    def connect_and_notify(address: Address, jvm: Jvm) -> "SparkSession":
        seen.update(descendants(jvm.pid))
        loop.call_soon_threadsafe(connecting.set)
        return connect(address, jvm)

    monkeypatch.setattr(session, "_connect", connect_and_notify)
    starting = asyncio.create_task(session.SparkHost.start(SETTINGS, CACHE_FOLDER, SystemClock()))
    await connecting.wait()
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert seen
    assert all_exited(seen)
    assert not files_in(tmp_path)


async def test_invalid_master_is_reported_in_one_line_with_sparks_message(tmp_path: Path) -> None:
    from dray.spark.session import SparkHost

    for master, expected in (
        (
            "foo",
            "^Spark's JVM exited during its start: Master must either be yarn or start with [a-z0-9, ]*$",
        ),
        (
            "local[x]",
            "^Spark did not start with spark.master=local.x.: Could not parse Master URL: 'local.x.'$",
        ),
    ):
        with pytest.raises(SparkFailed, match=expected):
            await SparkHost.start(SparkSettings(master=master), tmp_path, SystemClock())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[1s][warning][cds] x\nException in thread "main" a.b.C: too bad\n\tat a.b.C\n', "too bad"),
        ("An error occurred while calling x.\n: java.lang.IllegalStateException: no\n\tat y", "no"),
        ('Exception in thread "main" java.lang.StackOverflowError\n', "java.lang.StackOverflowError"),
        ("Error occurred during initialization of VM\n", None),
    ],
)
def test_message_of_a_java_exception_is_found(text: str, message: str | None) -> None:
    assert java_message(text) == message


async def test_failed_start_names_the_cause(tmp_path: Path) -> None:
    from dray.spark.session import SparkHost

    settings = SparkSettings(conf="spark.driver.extraJavaOptions=-Xms2g")
    with pytest.raises(SparkFailed, match=r"exited during its start; .*heap size"):
        await SparkHost.start(settings, tmp_path, SystemClock())
