"""`dray up` and `dray broker` as processes: what they say, which brokers they run, and how they end."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import IO

WAIT_S = 60.0
_TAKE_TERMINAL = (
    "import fcntl, os, sys, termios; "
    "fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.argv[1], sys.argv[1:])"
)
_READY = re.compile(r"(?:broker (\d+): )?Kafka is on (\S+), health and metrics are on http://(\S+)\n")


@dataclass(frozen=True, slots=True)
class Served:
    """A broker that said where it is."""

    broker_id: int | None
    kafka: str
    http: str


class Command:
    """A running `dray`. Its standard error is read as it comes; log lines are JSON."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.errors: list[str] = []
        self.rest = ""
        """What else it said on standard output, once it has ended."""
        self._seen: set[int] = set()
        self._out = process.stdout
        self._new_errors: Queue[str | None] = Queue()
        self._reading = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reading.start()

    def served(self, brokers: int) -> list[Served]:
        """Wait until so many lines say where brokers are."""
        return [self._served_line() for _ in range(brokers)]

    def children(self) -> list[int]:
        """Return the processes it has started and that live."""
        pid = self.process.pid
        found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        self._seen.update(found)
        return found

    def kill_leftovers(self) -> None:
        """Kill it, and brokers of its that outlived it, as only a failing test leaves behind."""
        self.process.kill()
        self.process.wait(WAIT_S)
        for pid in self._seen:
            with suppress(FileNotFoundError, ProcessLookupError):
                if b"dray.cli.fleet" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        self._reading.join(WAIT_S)

    def logged(self, event: str) -> dict[str, object]:
        """Wait for the next line of its log that tells of this event."""
        while (line := self._new_errors.get(timeout=WAIT_S)) is not None:
            told = json.loads(line) if line.startswith("{") else {}
            if told.get("event") == event:
                return dict(told)
        raise AssertionError(f"it ended before it told of {event}: {self.errors}")

    def end(self, number: signal.Signals | None = None) -> int:
        """Wait for its end and that of its brokers, after a signal if there is one; returns its exit code."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        self.rest = self._out.read()
        self._reading.join(WAIT_S)
        return code

    def _served_line(self) -> Served:
        line = self._out.readline()
        found = _READY.fullmatch(line)
        assert found is not None, f"{line!r} {self.errors}"
        return Served(None if found[1] is None else int(found[1]), found[2], found[3])

    def _read(self, errors: IO[str]) -> None:
        for line in errors:
            self.errors.append(line)
            self._new_errors.put(line)
        self._new_errors.put(None)


@contextmanager
def running(
    *arguments: str, cwd: Path, terminal: int | None = None, env: dict[str, str] | None = None
) -> Iterator[Command]:
    """Run `dray`, in the foreground of a terminal if there is one; it is killed at the end."""
    in_terminal = [] if terminal is None else [sys.executable, "-c", _TAKE_TERMINAL]
    with subprocess.Popen(
        [*in_terminal, sys.executable, "-P", "-m", "dray", *arguments],
        stdin=subprocess.DEVNULL if terminal is None else terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        start_new_session=terminal is not None,
        env={name: value for name, value in os.environ.items() if not name.startswith("DRAY_")} | (env or {}),
    ) as process:
        command = Command(process)
        try:
            yield command
        finally:
            command.kill_leftovers()


def up(brokers: int, *more: str) -> list[str]:
    """Return the arguments of a fleet on free ports."""
    free = ("--listen=127.0.0.1:0", "--http=127.0.0.1:0")
    return ["up", "--no-compaction", f"--brokers={brokers}", *free, *more]


def wait_until_gone(pids: Sequence[int]) -> None:
    """Return when none of these processes lives."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            gone, _, _ = select.select([descriptor], [], [], WAIT_S)
            assert gone, f"process {pid} lives on"
        finally:
            os.close(descriptor)
