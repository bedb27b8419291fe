"""Spark standalone cluster on loopback: a master and two workers of pip's pyspark."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.oracle.environment import ROOT
from tests.parts import locate
from tests.spark.processes import becomes_true

_HOST = "127.0.0.1"
_WORKER_CORES = 1


@contextmanager
def standalone(folder: Path, workers: int = 2) -> Iterator[str]:
    """Run a cluster and yield the URL of its master."""
    with ExitStack() as running:
        log = folder / "master.log"
        running.enter_context(
            _process("master.Master", ["--host", _HOST, "--port", "0", "--webui-port", "0"], log)
        )
        url = _found_in(log, r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            work = folder / f"work-{number}"
            options = [
                "--host",
                _HOST,
                "--webui-port",
                "0",
                "--cores",
                str(_WORKER_CORES),
                "--memory",
                "600m",
            ]
            running.enter_context(
                _process("worker.Worker", [*options, "--work-dir", str(work), url], folder / f"{number}.log")
            )
        for number in range(workers):
            _found_in(folder / f"{number}.log", r"(Successfully registered with master)")
        yield url


def _found_in(log: Path, pattern: str) -> str:
    def found() -> "re.Match[str] | None":
        return re.search(pattern, log.read_text())

    assert becomes_true(lambda: found() is not None, 40), log.read_text()[-2_000:]
    match = found()
    assert match is not None
    return match[1]


@contextmanager
def _process(name: str, options: list[str], log: Path) -> Iterator[None]:
    home = locate("spark").parent
    environ = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))},
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": _HOST,
        "SPARK_DAEMON_MEMORY": "200m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *options]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, env=environ, stdout=output, stderr=output) as ran,
    ):
        try:
            yield
        finally:
            ran.terminate()
            try:
                ran.wait(20)
            except subprocess.TimeoutExpired:
                ran.kill()
