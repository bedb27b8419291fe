"""What takes long is told: what is waited for after a second, and how it ended."""

import logging
import socket
from pathlib import Path

import pytest

from dray.cli.waiting import told_if_long
from dray.runtime import Tasks
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.cli.up_process import running

FREE = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.cli")


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[object, ...]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [
        (line["event"], line.get("waiting_for") or line.get("waited_for"), line.get("seconds"))
        for line in lines
    ]


async def waits(seconds: float, *, fails: bool = False) -> None:
    tasks, clock = Tasks(), VirtualClock(virtual_loop())
    async with told_if_long("rain", clock, tasks):
        await clock.sleep(seconds)
        if fails:
            raise ConnectionError
    await tasks.stop()


def test_what_is_quick_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    run(waits(0.9))
    assert told(caplog) == []


def test_what_is_long_is_told_once_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    run(waits(30))
    assert told(caplog) == [("waiting", "rain", None), ("waited", "rain", 30)]


def test_a_bad_end_tells_itself(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectionError):
        run(waits(5, fails=True))
    assert told(caplog) == [("waiting", "rain", None)]


@pytest.mark.slow
def test_a_broker_id_that_is_taken(tmp_path: Path) -> None:
    flags = [*FREE, "--set=metadata.session_ttl_ms=1000"]
    with running("up", *flags, cwd=tmp_path) as first:
        first.served(1)
        with running("up", *flags, cwd=tmp_path) as second:
            waiting = second.logged("waiting")
            assert waiting["waiting_for"] == (
                "broker id 1, which another process may have, to be free; --broker-id gives this one another"
            )
            assert second.end() == 1
    (line,) = [line for line in second.errors if line.startswith("dray: ")]
    assert line.startswith(
        "dray: broker id 1 is in use by another process of this cluster; stop that one, or "
    )


@pytest.mark.slow
def test_a_bucket_out_of_reach(tmp_path: Path) -> None:
    with socket.socket() as nobody:  # takes the port, and never listens
        nobody.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        storage = {
            "DRAY_STORAGE_ENDPOINT": endpoint,
            "DRAY_STORAGE_ALLOW_HTTP": "true",
            "DRAY_STORAGE_REGION": "here",
            "DRAY_STORAGE_ACCESS_KEY_ID": "me",
            "DRAY_STORAGE_SECRET_ACCESS_KEY": "you",
            "DRAY_STORAGE_RETRY_BUDGET_MS": "7000",  # the longest wait, and two seconds more
        }
        with running("up", *FREE, "--storage=s3://away/x", cwd=tmp_path, env=storage) as command:
            assert "s3://away/x to answer" in str(command.logged("waiting")["waiting_for"])
            assert command.end() == 1
    (line,) = [line for line in command.errors if line.startswith("dray: ")]
    assert endpoint in line
