"""Running a client program beside a server, and what it cost.

What a client writes to standard error is kept apart and shown only when it failed.
"""

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

import msgspec

from benchmarks.beside_kafka.orders import READY, AnyOrder, Done
from tests.oracle.environment import ROOT, unmeasured

_WAIT_S: Final = 180.0
_PROGRAM: Final = "benchmarks.beside_kafka.librdkafka_client"


class ClientFailed(RuntimeError):
    """A client ended badly or not at all; the message ends with what it wrote last."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a client wrote, and its life from start to end."""

    stdout: str
    seconds: float
    cpu_seconds: float


class Client:
    """A client that runs."""

    def __init__(self, process: "subprocess.Popen[str]", errors: IO[str]) -> None:
        self._process = process
        self._errors = errors

    def wait_ready(self) -> None:
        """Return when it says that it is ready."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != READY:
            raise ClientFailed(f"the client said {line!r} instead of being ready\n{self._last_words()}")

    def wait(self) -> str:
        """Return the rest of what it writes."""
        try:
            stdout, _ = self._process.communicate(timeout=_WAIT_S)
        except subprocess.TimeoutExpired as error:
            raise ClientFailed(f"a client took more than {_WAIT_S} s\n{self._last_words()}") from error
        if self._process.returncode:
            raise ClientFailed(f"a client ended with {self._process.returncode}\n{self._last_words()}")
        return stdout

    def wait_done(self) -> Done:
        """Return the answer to an order."""
        return msgspec.json.decode(self.wait().splitlines()[-1], type=Done)

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read()[-3000:]


@contextmanager
def running(command: Sequence[str]) -> Iterator[Client]:
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=unmeasured(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
        with process:
            try:
                yield Client(process, errors)
            finally:
                process.kill()


def ordered(order: AnyOrder) -> list[str]:
    """The command that carries out an order with librdkafka."""
    return [sys.executable, "-m", _PROGRAM, msgspec.json.encode(order).decode()]


def carry_out(order: AnyOrder) -> Done:
    with running(ordered(order)) as client:
        return client.wait_done()


def run(command: Sequence[str]) -> Ran:
    """Run a client to its end; its start counts too."""
    began, cpu = time.perf_counter(), _children_cpu_seconds()
    with running(command) as client:
        stdout = client.wait()
    return Ran(stdout, time.perf_counter() - began, _children_cpu_seconds() - cpu)


def _children_cpu_seconds() -> float:
    """Of all children that have ended; while one is measured no other must end."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
