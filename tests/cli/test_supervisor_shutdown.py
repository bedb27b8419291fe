"""Shutdown of `dray up --brokers N` with real processes."""

import json
import os
import pty
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.invoking import invoke
from tests.cli.up_process import Command, running, up, wait_until_exited

pytestmark = pytest.mark.slow

KEYS = {"DRAY_STORAGE_ACCESS_KEY_ID": "a", "DRAY_STORAGE_SECRET_ACCESS_KEY": "b"}


def test_killed_broker_is_restarted_at_its_address(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as command:
        first, second = command.served(2)
        victim, other = _process_of(2, command.children()), _process_of(1, command.children())
        os.kill(victim, signal.SIGKILL)
        ended = command.logged("broker_exited")
        assert (ended["broker"], ended["status"]) == (2, "broker 2 was killed by SIGKILL")
        back = command.logged("broker_restarted")
        assert (back["broker"], back["kafka"]) == (2, second.kafka)
        assert other in command.children()
        for one in (first, second):
            assert invoke("topics", "list", bootstrap=one.kafka).code == 0
        assert command.end(signal.SIGINT) == 0
    assert sum('"broker_exited"' in line for line in command.errors) == 1


def test_brokers_exit_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as command:
        served = command.served(2)
        brokers = command.children()
        assert len(brokers) == 2
        command.process.kill()
        wait_until_exited(brokers)
        assert command.end() == -signal.SIGKILL
    assert _stopped(command) == [1, 2], "a graceful shutdown"
    with running("up", f"--listen={served[0].kafka}", "--http=127.0.0.1:0", cwd=tmp_path) as again:
        assert again.served(1)[0].kafka == served[0].kafka


def test_brokers_exit_when_their_supervisor_is_killed_during_startup(tmp_path: Path) -> None:
    with _silent_bucket() as (bucket, requested), running(*up(2, *bucket), cwd=tmp_path, env=KEYS) as command:
        requested()
        brokers = command.children()
        command.process.kill()
        wait_until_exited(brokers)


@pytest.mark.parametrize("brokers", [1, 2])
def test_sigterm_during_startup_stops_cleanly(tmp_path: Path, brokers: int) -> None:
    with (
        _silent_bucket() as (bucket, requested),
        running(*up(brokers, *bucket), cwd=tmp_path, env=KEYS) as command,
    ):
        requested()
        assert command.end(signal.SIGTERM) == 0
    assert command.rest == ""
    assert command.errors == []


def test_ctrl_c_in_a_terminal_stops_each_process_once(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        with running(*up(3), cwd=tmp_path, terminal=theirs) as command:
            command.served(3)
            os.write(ours, b"\x03")
            assert command.end() == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert _stopped(command) == [1, 2, 3]
    assert len(command.errors) == 3


def test_signals_to_supervisor_and_brokers_are_one_shutdown(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as command:
        command.served(2)
        for pid in (command.process.pid, *command.children()):
            os.kill(pid, signal.SIGTERM)
        assert command.end() == 0
    assert _stopped(command) == [1, 2]
    assert len(command.errors) == 2


def test_second_ctrl_c_exits_immediately(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as command:
        command.served(2)
        brokers = command.children()
        with _paused(_process_of(1, brokers)):
            command.process.send_signal(signal.SIGINT)
            assert command.logged("shutdown_started")["broker"] == 2
            assert command.end(signal.SIGINT) == 1
            wait_until_exited(brokers)


@contextmanager
def _silent_bucket() -> Iterator[tuple[list[str], Callable[[], None]]]:
    """Flags of a bucket that never answers, and a function that waits for its first request."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as connections:
        pairs = {
            "storage.url": "s3://bucket/prefix",
            "storage.endpoint": f"http://127.0.0.1:{server.getsockname()[1]}",
            "storage.allow_http": "true",
            "storage.region": "here",
        }

        def requested() -> None:
            connections.enter_context(server.accept()[0])

        yield [f"--set={path}={value}" for path, value in pairs.items()], requested


@contextmanager
def _paused(pid: int) -> Iterator[None]:
    """Pause a process; only SIGKILL ends it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _stopped(command: Command) -> list[object]:
    """Return the brokers that logged their shutdown."""
    return sorted(json.loads(line)["broker"] for line in command.errors if '"shutdown_started"' in line)


def _process_of(broker_id: int, pids: list[int]) -> int:
    name = f"broker-{broker_id}".encode()
    (pid,) = [pid for pid in pids if name in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    return pid
