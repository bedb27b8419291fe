"""Class path of Apache Kafka, fetched with Maven, to run or compile against with the local JDK."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.oracle.cache import made

VERSION: Final = "4.3.1"
POM: Final = Path(__file__).with_name("pom.xml")
_FETCH_S: Final = 280

QUICK: Final = (
    "-Xshare:auto",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
"""For programs that live for seconds: no second compiler, no collector threads, little log."""


class JavaError(RuntimeError):
    """Maven or the compiler failed; the message ends with its output."""


def class_path() -> str:
    """Return Kafka's jars as a value for `java -cp`; the first call on a machine fetches them."""
    return f"{fetched(f'kafka-{VERSION}', POM)}/*"


def fetched(name: str, pom: Path) -> Path:
    """Return the folder with the jars of a pom; the first call on a machine fetches them."""
    return made(name, [pom], lambda folder: _fetch(pom, folder))


def java(main: str, *arguments: str, options: Sequence[str] = QUICK, extra: str = "") -> list[str]:
    """Return the command line that runs a class of Kafka or of the class path `extra`."""
    path = f"{extra}:{class_path()}" if extra else class_path()
    return ["java", *options, "-cp", path, main, *arguments]


def compiled(name: str, sources: Sequence[Path]) -> Path:
    """Return the folder with our own sources compiled against Kafka's jars."""

    def compile_into(folder: Path) -> None:
        _run(
            [
                "javac",
                "-Xlint:all,-processing",
                "-Werror",
                "-cp",
                class_path(),
                "-d",
                str(folder),
                *map(str, sources),
            ]
        )

    return made(name, [*sources, POM], compile_into)


def _fetch(pom: Path, folder: Path) -> None:
    _run(["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])


def _run(command: Sequence[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_FETCH_S, check=False)
    if ran.returncode:
        raise JavaError(f"`{command[0]}` failed with {ran.returncode}:\n{(ran.stdout + ran.stderr)[-3000:]}")
