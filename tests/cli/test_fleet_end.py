"""`dray up --brokers N` with real processes: how brokers, supervisor and all together end."""

import json
import os
import pty
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from tests.cli.calling import call
from tests.cli.up_process import Command, running, up, wait_until_gone

pytestmark = pytest.mark.slow

KEYS = {"DRAY_STORAGE_ACCESS_KEY_ID": "a", "DRAY_STORAGE_SECRET_ACCESS_KEY": "b"}


def test_one_that_dies_comes_back_at_its_address(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as fleet:
        first, second = fleet.served(2)
        victim, other = _process_of(2, fleet.children()), _process_of(1, fleet.children())
        os.kill(victim, signal.SIGKILL)
        ended = fleet.logged("broker_ended")
        assert (ended["broker"], ended["how"]) == (2, "broker 2 was killed by SIGKILL")
        back = fleet.logged("broker_is_back")
        assert (back["broker"], back["kafka"]) == (2, second.kafka)
        assert other in fleet.children()
        for one in (first, second):
            assert call("topics", "list", bootstrap=one.kafka).code == 0
        assert fleet.end(signal.SIGINT) == 0
    assert sum('"broker_ended"' in line for line in fleet.errors) == 1


def test_brokers_end_when_their_supervisor_is_killed(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as fleet:
        served = fleet.served(2)
        brokers = fleet.children()
        assert len(brokers) == 2
        fleet.process.kill()
        wait_until_gone(brokers)
        assert fleet.end() == -signal.SIGKILL
    assert _stopped(fleet) == [1, 2], "they have stopped, not died"
    with running("up", f"--listen={served[0].kafka}", "--http=127.0.0.1:0", cwd=tmp_path) as again:
        assert again.served(1)[0].kafka == served[0].kafka


def test_brokers_end_when_their_supervisor_is_killed_before_they_are_up(tmp_path: Path) -> None:
    with _deaf_bucket() as (bucket, asked), running(*up(2, *bucket), cwd=tmp_path, env=KEYS) as fleet:
        asked()
        brokers = fleet.children()
        fleet.process.kill()
        wait_until_gone(brokers)


@pytest.mark.parametrize("brokers", [1, 2])
def test_told_to_stop_while_it_starts(tmp_path: Path, brokers: int) -> None:
    with _deaf_bucket() as (bucket, asked), running(*up(brokers, *bucket), cwd=tmp_path, env=KEYS) as fleet:
        asked()
        assert fleet.end(signal.SIGTERM) == 0
    assert fleet.rest == ""
    assert fleet.errors == []


def test_ctrl_c_in_a_terminal_stops_each_once(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        with running(*up(3), cwd=tmp_path, terminal=theirs) as fleet:
            fleet.served(3)
            os.write(ours, b"\x03")
            assert fleet.end() == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert _stopped(fleet) == [1, 2, 3]
    assert len(fleet.errors) == 3


def test_being_told_each_and_all_together_is_one_stop(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as fleet:
        fleet.served(2)
        for pid in (fleet.process.pid, *fleet.children()):
            os.kill(pid, signal.SIGTERM)
        assert fleet.end() == 0
    assert _stopped(fleet) == [1, 2]
    assert len(fleet.errors) == 2


def test_a_second_ctrl_c_does_not_wait(tmp_path: Path) -> None:
    with running(*up(2), cwd=tmp_path) as fleet:
        fleet.served(2)
        brokers = fleet.children()
        with _held_up(_process_of(1, brokers)):
            fleet.process.send_signal(signal.SIGINT)
            assert fleet.logged("stopping")["broker"] == 2
            assert fleet.end(signal.SIGINT) == 1
            wait_until_gone(brokers)


@contextmanager
def _deaf_bucket() -> Iterator[tuple[list[str], Callable[[], None]]]:
    """Flags for a bucket that never answers, and a wait until it is asked something."""
    with socket.create_server(("127.0.0.1", 0)) as server, ExitStack() as connections:
        pairs = {
            "storage.url": "s3://bucket/prefix",
            "storage.endpoint": f"http://127.0.0.1:{server.getsockname()[1]}",
            "storage.allow_http": "true",
            "storage.region": "here",
        }

        def asked() -> None:
            connections.enter_context(server.accept()[0])

        yield [f"--set={path}={value}" for path, value in pairs.items()], asked


@contextmanager
def _held_up(pid: int) -> Iterator[None]:
    """Keep a process from doing anything; only SIGKILL ends it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _stopped(fleet: Command) -> list[object]:
    """Return which brokers said that they stop."""
    return sorted(json.loads(line)["broker"] for line in fleet.errors if '"stopping"' in line)


def _process_of(broker_id: int, pids: list[int]) -> int:
    name = f"broker-{broker_id}".encode()
    (pid,) = [pid for pid in pids if name in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    return pid
