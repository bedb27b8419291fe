"""Client processes and their cost.

A client's standard error is kept separately and shown only if it fails.
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
    """A client failed or did not end; the message ends with its last output."""


@dataclass(frozen=True, slots=True)
class Ran:
    """Output and cost of a client, from its start to its end."""

    stdout: str
    seconds: float
    cpu_seconds: float


class Client:
    """A running client."""

    def __init__(self, process: "subprocess.Popen[str]", errors: IO[str]) -> None:
        self._process = process
        self._errors = errors

    def wait_ready(self) -> None:
        """Wait until the client reports that it is ready."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != READY:
            raise ClientFailed(f"the client printed {line!r} instead of being ready\n{self._last_output()}")

    def wait(self) -> str:
        """Return the rest of its output."""
        try:
            stdout, _ = self._process.communicate(timeout=_WAIT_S)
        except subprocess.TimeoutExpired as error:
            raise ClientFailed(f"a client took more than {_WAIT_S} s\n{self._last_output()}") from error
        if self._process.returncode:
            raise ClientFailed(f"a client ended with {self._process.returncode}\n{self._last_output()}")
        return stdout

    def wait_done(self) -> Done:
        """Return the answer to an order."""
        return msgspec.json.decode(self.wait().splitlines()[-1], type=Done)

    def _last_output(self) -> str:
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
    """Return the command line that carries out an order with librdkafka."""
    return [sys.executable, "-m", _PROGRAM, msgspec.json.encode(order).decode()]


def carry_out(order: AnyOrder) -> Done:
    with running(ordered(order)) as client:
        return client.wait_done()


def run(command: Sequence[str]) -> Ran:
    """Run a client to its end, start-up included."""
    began, cpu = time.perf_counter(), _children_cpu_seconds()
    with running(command) as client:
        stdout = client.wait()
    return Ran(stdout, time.perf_counter() - began, _children_cpu_seconds() - cpu)


def _children_cpu_seconds() -> float:
    """Return the CPU time of all ended children; no other child may end while one is measured."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
