"""Shared broker of a test run, which lives exactly as long as it is used."""

import fcntl
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.oracle.kafka import answers
from tests.oracle.shared import shared

pytestmark = pytest.mark.real("java")


def wait_for_the_guard(directory: Path) -> None:
    """It removes the broker's address first and releases its lock last; we may get the lock before it."""
    with (directory / "users").open("w") as users:
        while True:
            fcntl.flock(users, fcntl.LOCK_EX)
            if not (directory / "broker.json").exists():
                return
            fcntl.flock(users, fcntl.LOCK_UN)


def test_broker_runs_until_the_last_user_leaves(tmp_path: Path) -> None:
    with ExitStack() as first, ExitStack() as second:
        broker = first.enter_context(shared(tmp_path))
        assert second.enter_context(shared(tmp_path)) == broker
        first.close()
        assert answers(broker.address)
    wait_for_the_guard(tmp_path)
    assert not answers(broker.address)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["start.lock", "users"]
