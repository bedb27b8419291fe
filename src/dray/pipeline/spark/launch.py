"""How Spark's JVM is started: its command, settings and environment. Pure, but for two looks at the disk.

Small and quick rather than fast in the end, because the work is done in Python: no second compiler, no
threads for the collector, half a gigabyte of heap. Classes come from an archive that the first session
leaves behind when it ends; it halves the time to the first result.

Settings go through a file that only we can read, not the command line, which everybody can.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from dray.pipeline.spark.java import Java
from dray.pipeline.spark.settings import SparkSettings

_LOOPBACK: Final = "127.0.0.1"
_DAEMON: Final = "dray.pipeline.spark.daemon"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_ARCHIVES_ITSELF: Final = 19
"""From this Java on, the JVM makes and renews the archive by itself."""


class SparkMissing(Exception):
    """pyspark is not installed; the message says how to."""


@dataclass(frozen=True, slots=True)
class Archive:
    """The archive of classes: where it is, and where this start leaves one for the next, if it does."""

    options: str = ""
    made: Path | None = None
    wanted: Path | None = None


def spark_home() -> Path:
    """Return where pyspark is, without importing it; raises `SparkMissing`."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing("compaction needs pyspark: pip install 'dray[spark]'")
    return Path(found.origin).parent


def archive_of(java: Java, cache: Path, folder: Path, spark_version: str) -> Archive:
    """Say how the archive in the cache is used, or made if there is none yet."""
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
    """Return all settings of the session."""
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
        settings.further.get(_JAVA_OPTIONS, ""),
    )
    java_options = {_JAVA_OPTIONS: " ".join(filter(None, options))}
    return ours | (local if settings.is_local else {}) | settings.further | java_options


def properties_text(values: Mapping[str, str]) -> str:
    """Return the settings as a Java properties file."""
    return "".join(f"{_escaped(name)}={_escaped(value)}\n" for name, value in sorted(values.items()))


def _escaped(text: str) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "=": "\\=", ":": "\\:", " ": "\\ ", "#": "\\#"}
    return "".join(special.get(one) or (one if one.isascii() else _unicode(one)) for one in text)


def _unicode(character: str) -> str:
    units = character.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def command(home: Path, settings_file: Path) -> list[str]:
    """Return the command that becomes the JVM; it ends when its standard input does."""
    submit = str(home / "bin" / "spark-submit")
    return [submit, "--properties-file", str(settings_file), "--load-spark-defaults", "pyspark-shell"]


def environment(
    settings: SparkSettings, java: Java, home: Path, told: Path, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of the JVM; to `told` it writes how it can be reached."""
    ours = {
        "SPARK_HOME": str(home),
        "SPARK_CONNECT_MODE": "0",
        "PYSPARK_PYTHON": python_of(settings, given),
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(told),
    }
    if java.home is not None:
        ours["JAVA_HOME"] = str(java.home)
    if settings.is_local:
        ours["SPARK_LOCAL_IP"] = _LOOPBACK
    dropped = ("JAVA_HOME", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    return {name: value for name, value in given.items() if name not in dropped} | ours


def python_of(settings: SparkSettings, given: Mapping[str, str]) -> str:
    """Return the Python of the workers: ours, unless a cluster's machines have theirs elsewhere."""
    return sys.executable if settings.is_local else given.get("PYSPARK_PYTHON", sys.executable)
