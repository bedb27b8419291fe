"""Shared Apache Kafka for all workers of a test run, stopped when the last of them has ended.

Every user holds a shared lock on a file. The first also starts a guard, a process of its own that runs the
broker and then waits for an exclusive lock on the same file: it gets it when no user is left, even if they
were killed, and stops the broker. A user that arrives meanwhile waits for that and starts another.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.oracle.cache import locked
from tests.oracle.environment import ROOT, unmeasured
from tests.oracle.kafka import Kafka, KafkaError, serve

_STATE: Final = "broker.json"
_START_S: Final = 280


@contextmanager
def shared(directory: Path) -> Iterator[Kafka]:
    """Use the broker of `directory`; the first user starts it."""
    directory.mkdir(exist_ok=True)
    with (directory / "users").open("w") as users:
        fcntl.flock(users, fcntl.LOCK_SH)
        state = directory / _STATE
        with locked(directory / "start.lock"):
            if not state.exists():
                _start_guard(directory)
        yield Kafka(**json.loads(state.read_text()))


def _start_guard(directory: Path) -> None:
    """Return when the guard closes its output: the broker is up, or the guard has failed."""
    command = [sys.executable, "-m", "tests.oracle.shared", str(directory)]
    ran = subprocess.run(
        command, cwd=ROOT, env=unmeasured(), capture_output=True, text=True, timeout=_START_S, check=False
    )
    if not (directory / _STATE).exists():
        raise KafkaError(f"the guard of the broker failed:\n{ran.stderr[-3000:]}")


def _guard(directory: Path) -> None:
    data, state = directory / "kafka", directory / _STATE
    with (directory / "users").open("w") as users:
        with serve(data) as broker:
            state.with_suffix(".new").write_text(json.dumps(asdict(broker)))
            state.with_suffix(".new").rename(state)
            _close_output()
            fcntl.flock(users, fcntl.LOCK_EX)
            state.unlink()
        shutil.rmtree(data, ignore_errors=True)


def _close_output() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)


if __name__ == "__main__":
    # In its own session: neither Ctrl-C nor the end of the first worker reaches it.
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # kills the broker too
        _guard(Path(sys.argv[1]))
