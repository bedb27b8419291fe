"""The two systems under comparison, each a broker and a job process that converts its topics to tables."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.beside_kafka.processes import cpu_seconds
from benchmarks.beside_kafka.servers import DRAY, KAFKA, PREPARE, Server, serving
from benchmarks.to_table.cases import CORES
from benchmarks.to_table.job_process import JobProcess, running
from tests.oracle.jars import fetched
from tests.parts import locate

_HERE: Final = Path(__file__).parent
_CONNECTOR: Final = _HERE.parents[1] / "tests" / "spark_connector" / "pom.xml"
_ICEBERG: Final = _HERE / "pom.xml"


@dataclass(frozen=True, slots=True)
class System:
    """A broker and its job process; `tables` is the folder with a folder per table."""

    name: str
    server: Server
    job: JobProcess
    tables: Path

    def table(self, topic: str) -> Path:
        return self.tables / (f"topic={topic}" if self.name == DRAY else topic)

    def cpu_seconds(self) -> float:
        """Return the CPU time of both, with all their processes."""
        return cpu_seconds(self.server.pid) + cpu_seconds(self.job.pid)


@contextmanager
def started(name: str, home: Path) -> Iterator[System]:
    """Start a broker and its job process in a new directory."""
    start = {DRAY: _dray, KAFKA: _kafka}[name]
    with serving(PREPARE[name](home)) as server, start(home, server) as (job, tables):
        yield System(name, server, job, tables)


@contextmanager
def dray_job(home: Path) -> Iterator[JobProcess]:
    """Start a compactor on the stores of the broker in `home`."""
    command = [sys.executable, "-m", "benchmarks.to_table.dray_job", str(home / "data"), str(CORES)]
    with running(command, home / "job.log") as job:
        yield job


@contextmanager
def _dray(home: Path, _: Server) -> Iterator[tuple[JobProcess, Path]]:
    with dray_job(home) as job:
        yield job, home / "data" / "objects" / "iceberg"


@contextmanager
def _kafka(home: Path, server: Server) -> Iterator[tuple[JobProcess, Path]]:
    warehouse = home / "warehouse"
    program = ["benchmarks.to_table.kafka_job", server.bootstrap, jars(), str(warehouse), str(CORES)]
    java = {"JAVA_HOME": str(locate("java").resolve().parents[1]), "PYSPARK_PYTHON": sys.executable}
    with running([sys.executable, "-m", *program], home / "job.log", java) as job:
        yield job, warehouse / "log"


def jars() -> str:
    """Return Spark's Kafka connector and Iceberg's runtime; the first call on a machine downloads them."""
    folders = [fetched("spark-kafka", _CONNECTOR), fetched("iceberg-spark-runtime", _ICEBERG)]
    return ",".join(str(jar) for folder in folders for jar in sorted(folder.glob("*.jar")))
