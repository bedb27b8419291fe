"""Command, properties and environment of Spark's JVM. Pure, apart from two checks of the file system.

The JVM is tuned for a small footprint and a quick start, because the work is done in Python: no C2 compiler,
no GC threads, 512 MB of heap. Classes come from a class-data archive that the first session leaves behind at
its exit; it halves the time to the first result.

Properties are passed in a private file, because any user can read a command line.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dray.spark.java import Java
from dray.spark.settings import SparkSettings

_LOOPBACK: Final = "127.0.0.1"
_DAEMON: Final = "dray.spark.daemon"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_ARCHIVES_ITSELF: Final = 19
"""From this Java on, the JVM creates and renews the archive itself."""


class SparkMissing(Exception):
    """pyspark is not installed; the message says how to install it."""


@dataclass(frozen=True, slots=True)
class Archive:
    """Class-data archive: JVM options, and where this start leaves a new one for later starts, if it does."""

    options: str = ""
    made: Path | None = None
    wanted: Path | None = None


def spark_home() -> Path:
    """Return the folder of pyspark without importing it; raises `SparkMissing`."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing("compaction needs pyspark: pip install 'dray[spark]'")
    return Path(found.origin).parent


def archive_of(java: Java, cache: Path, folder: Path, spark_version: str) -> Archive:
    """Return how the cached archive is used, or created if there is none yet."""
    if not java.shares_classes:
        return Archive()
    kept = cache / f"spark-{spark_version}-java-{java.version}.jsa"
    if java.major >= _ARCHIVES_ITSELF:
        return Archive(f'-XX:+AutoCreateSharedArchive "-XX:SharedArchiveFile={kept}"')
    if kept.is_file():
        return Archive(f'"-XX:SharedArchiveFile={kept}"')
    made = folder / "classes.jsa"
    return Archive(f'"-XX:ArchiveClassesAtExit={made}"', made, kept)


def properties(settings: SparkSettings, folder: Path, archive: Archive) -> dict[str, str]:
    """Return all properties of the session."""
    local = {"spark.driver.host": _LOOPBACK, "spark.driver.bindAddress": _LOOPBACK}
    ours = {
        "spark.master": settings.master,
        "spark.app.name": "dray compaction",
        "spark.driver.memory": settings.driver_memory,
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.python.daemon.module": _DAEMON,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
    }
    options = (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        archive.options,
        f'"-Djava.io.tmpdir={folder}"',
        settings.properties.get(_JAVA_OPTIONS, ""),
    )
    java_options = {_JAVA_OPTIONS: " ".join(filter(None, options))}
    return ours | (local if settings.is_local else {}) | settings.properties | java_options


def properties_text(values: Mapping[str, str]) -> str:
    """Format properties as a Java properties file."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in sorted(values.items()))


def _escaped(text: str) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "=": "\\=", ":": "\\:", " ": "\\ ", "#": "\\#"}
    return "".join(special.get(one) or (one if one.isascii() else _unicode(one)) for one in text)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def command(home: Path, settings_file: Path) -> list[str]:
    """Return the command that starts the JVM; it exits when its standard input is closed."""
    submit = str(home / "bin" / "spark-submit")
    return [submit, "--properties-file", str(settings_file), "--load-spark-defaults", "pyspark-shell"]


def environment(
    settings: SparkSettings, java: Java, home: Path, gateway: Path, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of the JVM, which writes its address to `gateway`."""
    ours = {
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": python_of(settings, given),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(gateway),
    }
    if java.home is not None:
        ours["JAVA_HOME"] = str(java.home)
    if settings.is_local:
        ours["SPARK_LOCAL_IP"] = _LOOPBACK
    dropped = ("JAVA_HOME", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    return {name: value for name, value in given.items() if name not in dropped} | ours


def python_of(settings: SparkSettings, given: Mapping[str, str]) -> str:
    """Return the Python of the workers: this one, unless a cluster has its own."""
    return sys.executable if settings.is_local else given.get("PYSPARK_PYTHON", sys.executable)
