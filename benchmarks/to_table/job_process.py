"""A program that turns topics into tables, started once and asked many times."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from benchmarks.to_table.orders import READY, Answer, AnyOrder
from tests.oracle.environment import ROOT, unmeasured

_END_S = 60.0
_SPARKS_OWN = ("SPARK_", "PYSPARK_", "HADOOP_")


class JobFailed(RuntimeError):
    """The program ended; the message ends with what it wrote last."""


class JobProcess:
    """A program that runs; it ends when its input does."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        if (line := self._line().strip()) != READY:
            raise JobFailed(f"it said {line!r} instead of being ready{self._last_words()}")

    def ask(self, order: AnyOrder) -> Answer:
        """Return when the order is carried out."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._line(), type=Answer)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise JobFailed(f"it ended with {self._process.wait()}{self._last_words()}")
        return line

    def _last_words(self) -> str:
        return f"; the last it wrote:\n{self._log.read_text(errors='replace')[-3000:]}"


@contextmanager
def running(command: Sequence[str], log: Path, more: Mapping[str, str] | None = None) -> Iterator[JobProcess]:
    """Run a program until it is ready, and end it. It knows nothing of a Spark that this machine may have."""
    environment = {name: value for name, value in unmeasured().items() if not name.startswith(_SPARKS_OWN)}
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**environment, **(more or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    with process:
        try:
            job = JobProcess(process, log)
            job.wait_ready()
            yield job
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(_END_S)
            except subprocess.TimeoutExpired:
                process.kill()
