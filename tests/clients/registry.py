"""Client libraries of the matrix: how each program is started, and what each library cannot write or read.

A record written by one library and read by another is `reader.shows(writer.says(record))`. The differences
are those of the libraries, as observed with Apache Kafka:

- kafka-python and kafkajs reject a header without a value; an empty one is written instead.
- kafkajs keeps headers by name: those of one name are moved to the place of the first.
- kafka-go returns an empty key, value or header as null, and has no idempotent writer.
- sarama 1.43, as all up to 1.45.0, leaves maxTimestamp of its batches at -1.
- Only librdkafka (also from Rust), Java's client and franz-go know the consumer protocol of groups beside the
  classic one.
- kafka-go has no OAUTHBEARER. rust-rdkafka's admin client has no tokens for it: its callback is never called.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from tests.clients.protocol import Codec, GroupProtocol, Record
from tests.clients.security import PASSWORDS, Mechanism
from tests.oracle import jars
from tests.oracle.cache import made

CODECS: Final[tuple[Codec, ...]] = ("none", "gzip", "snappy", "lz4", "zstd")
_HERE: Final = Path(__file__).parent
_BUILD_S: Final = 280
_RUST_PROGRAM: Final = "dray-test-rdkafka"


class BuildError(RuntimeError):
    """A client program could not be built; the message ends with the build output."""


@dataclass(frozen=True, slots=True)
class Client:
    """A library; `part` is the toolchain it needs, as named in tests/parts.py."""

    name: str
    part: str | None
    command: Callable[[str], list[str]]
    idempotence: tuple[bool, ...] = (True, False)
    protocols: tuple[GroupProtocol, ...] = ("classic",)
    mechanisms: tuple[Mechanism, ...] = (*PASSWORDS, "OAUTHBEARER")
    null_headers: bool = True
    ordered_headers: bool = True
    empty_is_null: bool = False

    def says(self, record: Record) -> Record:
        """Return the record as the library writes it."""
        if self.null_headers:
            return self._grouped(record)
        headers = tuple((name, value or b"") for name, value in record.headers)
        return self._grouped(replace(record, headers=headers))

    def shows(self, record: Record) -> Record:
        """Return the record as the library reads it."""
        if self.empty_is_null:
            headers = tuple((name, value or None) for name, value in record.headers)
            record = replace(record, key=record.key or None, value=record.value or None, headers=headers)
        return self._grouped(record)

    def _grouped(self, record: Record) -> Record:
        if self.ordered_headers:
            return record
        names = dict.fromkeys(name for name, _ in record.headers)
        grouped = tuple(header for name in names for header in record.headers if header[0] == name)
        return replace(record, headers=grouped)


def python(package: str) -> Callable[[str], list[str]]:
    return lambda bootstrap: [sys.executable, "-m", f"tests.clients.{package}", bootstrap]


def java_classes() -> Path:
    """Return the folder with our own Java programs, compiled."""
    return jars.compiled("java-programs", sorted((_HERE / "java").glob("*.java")))


def java(bootstrap: str) -> list[str]:
    return jars.java("Program", bootstrap, extra=str(java_classes()))


def go(library: str, module: str = "go") -> Callable[[str], list[str]]:
    """Build with the versions of MODULE.mod and MODULE.sum; one binary has all libraries."""
    source = _HERE / "golang"
    versions = [source / f"{module}.mod", source / f"{module}.sum"]

    def build(folder: Path) -> None:
        binary = ["-o", str(folder / "clients")]
        _run(["go", "build", "-buildvcs=false", f"-modfile={module}.mod", *binary, "."], source)

    def command(bootstrap: str) -> list[str]:
        name = "go-programs" if module == "go" else f"go-programs-{module}"
        folder = made(name, [*source.glob("*.go"), *versions], build)
        return [str(folder / "clients"), library, bootstrap]

    return command


def node(bootstrap: str) -> list[str]:
    sources = [path for path in (_HERE / "kafkajs").iterdir() if path.is_file()]

    def install(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)

    return ["node", str(made("kafkajs-program", sources, install) / "program.js"), bootstrap]


def rust(bootstrap: str) -> list[str]:
    """Build with the versions of Cargo.lock, and keep only the program."""
    source = _HERE / "rust"

    def build(folder: Path) -> None:
        target = folder / "target"
        _run(["cargo", "build", "--quiet", "--locked", f"--target-dir={target}"], source)
        (target / "debug" / _RUST_PROGRAM).rename(folder / _RUST_PROGRAM)
        shutil.rmtree(target)

    sources = [source / "Cargo.toml", source / "Cargo.lock", *(source / "src").glob("*.rs")]
    return [str(made("rust-program", sources, build) / _RUST_PROGRAM), bootstrap]


def _run(command: list[str], folder: Path) -> None:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if ran.returncode:
        wrote = (ran.stdout + ran.stderr)[-3000:]
        raise BuildError(f"`{' '.join(command)}` failed with {ran.returncode}:\n{wrote}")


CLIENTS: Final = {
    client.name: client
    for client in (
        Client("librdkafka", None, python("librdkafka"), protocols=("classic", "consumer")),
        Client("aiokafka", None, python("aiokafka")),
        Client("kafka-python", None, python("kafka_python"), null_headers=False),
        Client("java", "java", java, protocols=("classic", "consumer")),
        Client("franz-go", "go", go("franz-go"), protocols=("classic", "consumer")),
        Client("sarama", "go", go("sarama")),
        Client("sarama-1.43", "go", go("sarama", "sarama-1.43")),
        Client(
            "kafka-go", "go", go("kafka-go"), idempotence=(False,), mechanisms=PASSWORDS, empty_is_null=True
        ),
        Client("rust-rdkafka", "rust", rust, protocols=("classic", "consumer")),
        Client("kafkajs", "node", node, null_headers=False, ordered_headers=False),
    )
}
