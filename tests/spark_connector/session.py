"""Spark session, one per module, started with a connector's jars and stopped with its JVM.

pyspark keeps its JVM until the interpreter ends, and a second session would get the first one's. Here the
JVM ends with the session, so that the next session can use other jars or options.

pyspark, the part `spark` of tests/parts.py, is half a gigabyte and not installed everywhere, so it is
imported only when a session starts.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import TimeoutExpired
from typing import TYPE_CHECKING, Final

from tests.parts import locate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_END_S: Final = 30.0
_HOST: Final = "127.0.0.1"
_JAVA_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto"
"""For a JVM that runs for a minute: without a second compiler and collector threads it starts faster."""


@contextmanager
def running_spark(jars: Sequence[Path], folder: Path) -> Iterator["SparkSession"]:
    """Run a local session with two threads; its own files are in `folder`."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in _settings(jars, folder).items():
        builder = builder.config(name, value)
    with _environment():
        session = builder.getOrCreate()
    try:
        yield session
    finally:
        _end(session)


def _settings(jars: Sequence[Path], folder: Path) -> dict[str, str]:
    return {
        "spark.app.name": "dray tests",
        "spark.jars": ",".join(map(str, jars)),
        "spark.driver.host": _HOST,
        "spark.driver.bindAddress": _HOST,
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": f"{_JAVA_OPTIONS} -Djava.io.tmpdir={folder}",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


@contextmanager
def _environment() -> Iterator[None]:
    """Set Java (see tests/parts.py) and Python for Spark, and unset variables of another Spark."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("SPARK_", "PYSPARK_", "HADOOP_")):
            del os.environ[name]
    os.environ["JAVA_HOME"] = str(locate("java").resolve().parents[1])
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_HOME"] = str(locate("spark").parent)
    os.environ["SPARK_LOCAL_IP"] = _HOST
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _end(session: "SparkSession") -> None:
    """Stop the session, then the JVM, which exits when its standard input is closed."""
    from pyspark import SparkContext

    gateway = session.sparkContext._gateway
    assert gateway is not None
    session.stop()
    gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    gateway.proc.stdin.close()
    try:
        gateway.proc.wait(_END_S)
    except TimeoutExpired:
        gateway.proc.kill()
        raise
