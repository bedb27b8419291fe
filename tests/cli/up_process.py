"""`dray up` and `dray broker` as processes: their output, brokers and exit."""

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
_READY = re.compile(r"(?:broker (\d+): )?Kafka API on (\S+), health and metrics on http://(\S+)\n")


@dataclass(frozen=True, slots=True)
class Served:
    """The addresses that a broker printed."""

    broker_id: int | None
    kafka: str
    http: str


class Command:
    """A running `dray`. Its standard error is read in the background; log lines are JSON."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        self.process = process
        self.errors: list[str] = []
        self.rest = ""
        """The rest of its standard output, after its exit."""
        self._seen: set[int] = set()
        self._out = process.stdout
        self._new_errors: Queue[str | None] = Queue()
        self._reading = threading.Thread(target=self._read, args=(process.stderr,), daemon=True)
        self._reading.start()

    def served(self, brokers: int) -> list[Served]:
        """Wait until this many brokers have printed their addresses."""
        return [self._served_line() for _ in range(brokers)]

    def children(self) -> list[int]:
        """Return its running child processes."""
        pid = self.process.pid
        found = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        self._seen.update(found)
        return found

    def kill_leftovers(self) -> None:
        """Kill it and its remaining brokers, which only a failing test leaves."""
        self.process.kill()
        self.process.wait(WAIT_S)
        for pid in self._seen:
            with suppress(FileNotFoundError, ProcessLookupError):
                if b"dray.server.supervisor" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        self._reading.join(WAIT_S)

    def logged(self, event: str) -> dict[str, object]:
        """Wait for the next log line with this event."""
        while (line := self._new_errors.get(timeout=WAIT_S)) is not None:
            fields = json.loads(line) if line.startswith("{") else {}
            if fields.get("event") == event:
                return dict(fields)
        raise AssertionError(f"it exited without logging {event}: {self.errors}")

    def line(self) -> str:
        """Wait for the next line of its standard output."""
        return self._out.readline()

    def end(self, number: signal.Signals | None = None) -> int:
        """Send a signal, if given, and wait until it and its brokers have exited; return its exit code."""
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
    """Run `dray`, in the foreground of a terminal if given; it is killed at the end."""
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
    """Return the arguments for brokers 1, 2 … on free ports."""
    free = ("--broker-id=1", "--listen=127.0.0.1:0", "--http=127.0.0.1:0")
    return ["up", "--no-compaction", f"--brokers={brokers}", *free, *more]


def wait_until_exited(pids: Sequence[int]) -> None:
    """Return once none of these processes runs."""
    for pid in pids:
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            exited, _, _ = select.select([descriptor], [], [], WAIT_S)
            assert exited, f"process {pid} still runs"
        finally:
            os.close(descriptor)
