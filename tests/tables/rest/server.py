"""Apache Iceberg's own REST catalog, run for tests: the tables' oracle for what crosses a socket.

`serve(directory)` starts it on a free port of 127.0.0.1 with its database and warehouse in `directory`, waits
until it says its port, and kills it at the end. The jars come from Maven, once per machine.
"""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.oracle.jars import QUICK, fetched

VERSION: Final = "1.11.0"
_POM: Final = Path(__file__).with_name("pom.xml")
_MAIN: Final = Path(__file__).with_name("LoopbackCatalog.java")


class RestCatalogError(RuntimeError):
    """The server did not start; the message says what it wrote last."""


@dataclass(frozen=True, slots=True)
class RestServer:
    """A running server and where it keeps tables."""

    uri: str
    pid: int
    warehouse: Path


@contextmanager
def serve(
    directory: Path, properties: Mapping[str, str] | None = None, more_jars: Path | None = None
) -> Iterator[RestServer]:
    """Run a server with its files in `directory`, which must be empty or missing.

    `properties` are the catalog's own, and `more_jars` a folder with what these need.
    """
    warehouse = directory / "warehouse"
    warehouse.mkdir(parents=True)
    process = _spawn(directory, warehouse, properties or {}, more_jars)
    try:
        yield RestServer(f"http://127.0.0.1:{_port(process, directory)}", process.pid, warehouse)
    finally:
        process.kill()
        process.communicate()


def _spawn(
    directory: Path, warehouse: Path, properties: Mapping[str, str], more_jars: Path | None
) -> "subprocess.Popen[str]":
    jars = [fetched(f"iceberg-rest-{VERSION}", _POM), *([] if more_jars is None else [more_jars])]
    path = ":".join(f"{folder}/*" for folder in jars)
    command = ["java", "-Xmx256M", *QUICK, "-cp", path, str(_MAIN)]
    further = [f"{name}={value}" for name, value in properties.items()]
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(
            [*command, str(directory / "catalog.db"), warehouse.as_uri(), *further],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )


def _port(process: "subprocess.Popen[str]", directory: Path) -> int:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.strip().isdecimal():
        log = (directory / "log").read_text(errors="replace")
        raise RestCatalogError(f"the REST catalog did not come up; it wrote last:\n{log[-3000:]}")
    return int(line)
