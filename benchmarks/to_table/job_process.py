"""Handle of a job process that converts topics to tables, one order at a time."""

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
    """The process ended; the message ends with its last output."""


class JobProcess:
    """A running job process; it ends when its standard input is closed."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        if (line := self._line().strip()) != READY:
            raise JobFailed(f"it printed {line!r} instead of being ready{self._last_output()}")

    def ask(self, order: AnyOrder) -> Answer:
        """Carry out an order."""
        assert self._process.stdin is not None
        self._process.stdin.write(msgspec.json.encode(order).decode() + "\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._line(), type=Answer)

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise JobFailed(f"it ended with {self._process.wait()}{self._last_output()}")
        return line

    def _last_output(self) -> str:
        return f"; its last output:\n{self._log.read_text(errors='replace')[-3000:]}"


@contextmanager
def running(command: Sequence[str], log: Path, more: Mapping[str, str] | None = None) -> Iterator[JobProcess]:
    """Run a job process, isolated from any Spark settings of this machine."""
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
