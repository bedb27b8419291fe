"""The client libraries of the matrix: how each programme is started, what each library cannot say or show.

A record as one library writes it and another shows it is `reader.shows(writer.says(record))`. The differences
are the libraries' own, seen against Apache Kafka:

- kafka-python and kafkajs refuse a header without a value; an empty one is written instead.
- kafkajs keeps headers by name: those of one name come together, at the place of the first.
- kafka-go shows an empty key, value or header as null, and has no idempotent writer.
- Only librdkafka, Java's client and franz-go know the consumer protocol of groups beside the classic one.
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
from tests.oracle import jars
from tests.oracle.cache import made

CODECS: Final[tuple[Codec, ...]] = ("none", "gzip", "snappy", "lz4", "zstd")
_HERE: Final = Path(__file__).parent
_BUILD_S: Final = 280


class BuildError(RuntimeError):
    """A client programme could not be built; the message ends with what the builder wrote."""


@dataclass(frozen=True, slots=True)
class Client:
    """One library; `part` is what it needs of the machine, as named in tests/parts.py."""

    name: str
    part: str | None
    command: Callable[[str], list[str]]
    idempotence: tuple[bool, ...] = (True, False)
    protocols: tuple[GroupProtocol, ...] = ("classic",)
    null_headers: bool = True
    ordered_headers: bool = True
    empty_is_null: bool = False

    def says(self, record: Record) -> Record:
        """What the library writes when it is given the record."""
        if self.null_headers:
            return self._grouped(record)
        headers = tuple((name, value or b"") for name, value in record.headers)
        return self._grouped(replace(record, headers=headers))

    def shows(self, record: Record) -> Record:
        """What the library reads when the record is in the log."""
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
    """Where our own programmes in Java are, compiled."""
    return jars.compiled("java-programmes", sorted((_HERE / "java").glob("*.java")))


def java(bootstrap: str) -> list[str]:
    return jars.java("Programme", bootstrap, extra=str(java_classes()))


def go(library: str) -> Callable[[str], list[str]]:
    source = _HERE / "golang"

    def build(folder: Path) -> None:
        _run(["go", "build", "-buildvcs=false", "-o", str(folder / "clients"), "."], source)

    def command(bootstrap: str) -> list[str]:
        folder = made("go-programmes", [*source.glob("*.go"), *source.glob("go.*")], build)
        return [str(folder / "clients"), library, bootstrap]

    return command


def node(bootstrap: str) -> list[str]:
    sources = [path for path in (_HERE / "kafkajs").iterdir() if path.is_file()]

    def install(folder: Path) -> None:
        for source in sources:
            shutil.copy(source, folder)
        _run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], folder)

    return ["node", str(made("kafkajs-programme", sources, install) / "programme.js"), bootstrap]


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
        Client("kafka-go", "go", go("kafka-go"), idempotence=(False,), empty_is_null=True),
        Client("kafkajs", "node", node, null_headers=False, ordered_headers=False),
    )
}
