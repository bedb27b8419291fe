"""Log lines of a slow start: what it waits for after a second, and how long it took."""

import logging
import socket
from pathlib import Path

import pytest

from dray.runtime import Tasks
from dray.server.slow_start import log_if_slow
from dray.testing.clock import VirtualClock
from dray.testing.virtual_loop import run, virtual_loop
from tests.cli.up_process import running

FREE = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")


@pytest.fixture(autouse=True)
def _log_everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dray.server")


def logged(caplog: pytest.LogCaptureFixture) -> list[tuple[object, ...]]:
    lines = [record.msg for record in caplog.records if isinstance(record.msg, dict)]
    return [(line["event"], line["reason"], line.get("remedy"), line.get("seconds")) for line in lines]


async def waits(seconds: float, *, fails: bool = False) -> None:
    tasks, clock = Tasks(), VirtualClock(virtual_loop())
    async with log_if_slow("rain", "umbrella", clock, tasks):
        await clock.sleep(seconds)
        if fails:
            raise ConnectionError
    await tasks.stop()


def test_fast_start_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    run(waits(0.9))
    assert logged(caplog) == []


def test_slow_start_is_logged_once_and_when_it_ends(caplog: pytest.LogCaptureFixture) -> None:
    run(waits(30))
    assert logged(caplog) == [
        ("startup_blocked", "rain", "umbrella", None),
        ("startup_unblocked", "rain", None, 30),
    ]


def test_failed_start_logs_no_success(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ConnectionError):
        run(waits(5, fails=True))
    assert logged(caplog) == [("startup_blocked", "rain", "umbrella", None)]


@pytest.mark.slow
def test_taken_broker_id_is_logged(tmp_path: Path) -> None:
    flags = [*FREE, "--set=metadata.session_ttl_ms=1000", "--broker-id=1"]
    with running("up", *flags, cwd=tmp_path) as first:
        first.served(1)
        with running("up", *flags, cwd=tmp_path) as second:
            blocked = second.logged("startup_blocked")
            assert blocked["reason"] == "broker id 1 may still be registered by another process"
            assert blocked["remedy"] == "stop it, or choose another --broker-id"
            assert second.end() == 1
    (line,) = [line for line in second.errors if line.startswith("dray: ")]
    assert line.startswith(
        "dray: broker id 1 is in use by another process of this cluster; stop that one, or "
    )


@pytest.mark.slow
def test_unreachable_bucket_is_logged(tmp_path: Path) -> None:
    with socket.socket() as unused:  # takes the port, and never listens
        unused.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{unused.getsockname()[1]}"
        storage = {
            "DRAY_STORAGE_ENDPOINT": endpoint,
            "DRAY_STORAGE_ALLOW_HTTP": "true",
            "DRAY_STORAGE_REGION": "here",
            "DRAY_STORAGE_ACCESS_KEY_ID": "me",
            "DRAY_STORAGE_SECRET_ACCESS_KEY": "you",
            "DRAY_STORAGE_RETRY_BUDGET_MS": "7000",  # the longest wait, and two seconds more
        }
        with running("up", *FREE, "--storage=s3://away/x", cwd=tmp_path, env=storage) as command:
            assert "s3://away/x do not respond" in str(command.logged("startup_blocked")["reason"])
            assert command.end() == 1
    (line,) = [line for line in command.errors if line.startswith("dray: ")]
    assert endpoint in line
