"""Kafka Streams application that counts words."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.oracle import jars
from tests.oracle.cache import made

_HERE: Final = Path(__file__).parent / "streams"
_POM: Final = _HERE / "pom.xml"
_SOURCES: Final = (_HERE / "WordCount.java",)
_BUILD_S: Final = 280
_END_S: Final = 30


def class_path() -> str:
    """Return the class path without Kafka's own jars; the first call on a machine builds it."""
    library = made(f"kafka-streams-{jars.VERSION}", [_POM], _fetch)

    def compile_into(folder: Path) -> None:
        path = f"{library}/*:{jars.class_path()}"
        _run(["javac", "-Xlint:all,-processing", "-cp", path, "-d", str(folder), *map(str, _SOURCES)])

    return f"{made('java-word-count', [*_SOURCES, _POM], compile_into)}:{library}/*"


def _fetch(folder: Path) -> None:
    _run(["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"])


def _run(command: Sequence[str]) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, timeout=_BUILD_S, check=False)
    if ran.returncode:
        raise jars.JavaError(f"`{command[0]}` failed with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}")


class WordCount:
    """The application, which can be restarted; it starts without state on disk."""

    def __init__(self, bootstrap: str, name: str, source: str, sink: str, folder: Path) -> None:
        self.name = name
        self._folder = folder
        self._arguments = (bootstrap, name, source, sink)
        self._lives = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._lives += 1
        bootstrap, name, source, sink = self._arguments
        state = self._folder / f"state-{self._lives}"
        command = jars.java("WordCount", bootstrap, name, str(state), source, sink, extra=class_path())
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        self._process = None

    def close(self) -> None:
        """End it gracefully, by closing its input."""
        if self._process is None:
            return
        try:
            self._process.communicate(timeout=_END_S)
            self._process = None
        finally:
            if self._process is not None:
                self.kill()

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text()[-3000:]
