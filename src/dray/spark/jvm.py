"""Spark's JVM as a child process, from start to exit.

Its output and that of the Python workers goes to a file in the session's folder, not to the terminal; error
messages quote its last lines. The JVM exits when its standard input is closed, so it never outlives this
process; the Python workers exit with the JVM.
"""

import re
import shutil
import struct
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dray.compaction.engine import EngineFailed
from dray.spark.java import Java
from dray.spark.launch import (
    Archive,
    archive_of,
    command,
    environment,
    properties,
    properties_text,
    python_of,
)
from dray.spark.scratch import ScratchFolder
from dray.spark.settings import SparkSettings

_END_S: Final = 60.0
_QUOTED_LINES: Final = 5
_NOISE: Final = re.compile(r"\s+(?:at |\.\.\. \d+ more)|\[[^]]*\]\[warning\]")
"""Stack frames, and warnings of the JVM about its archive of classes."""
_EXCEPTION: Final = re.compile(
    r'^(?:Exception in thread "[^"]*" |: )((?:[\w$]+\.)+[\w$]+)(?:: (.+))?$', re.MULTILINE
)


class SparkFailed(EngineFailed):
    """Spark did not start, or no executor works for it."""


@dataclass(frozen=True, slots=True)
class Address:
    """Address of the JVM for py4j."""

    port: int
    secret: str


class Jvm:
    """A running JVM; it owns `folder`, which is removed with it."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: ScratchFolder, archive: Archive) -> None:
        self._process = process
        self._folder = folder
        self._archive = archive
        self.python = ""
        self.properties: Mapping[str, str] = {}

    @classmethod
    def start(
        cls,
        settings: SparkSettings,
        java: Java,
        *,
        home: Path,
        cache: Path,
        own: ScratchFolder,
        given: Mapping[str, str],
    ) -> "Jvm":
        """Start it in its own empty folder."""
        folder = own.path
        cache.mkdir(parents=True, exist_ok=True)
        archive = archive_of(java, cache, folder, _version(home))
        values = properties(settings, folder, archive)
        settings_file = folder / "spark.properties"
        settings_file.touch(mode=0o600)
        settings_file.write_text(properties_text(values))
        with (folder / "spark.log").open("wb") as log:
            process = subprocess.Popen(
                command(home, settings_file),
                env=environment(settings, java, home, folder / "gateway", given),
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C in the terminal is for this process, which then ends the JVM
            )
        jvm = cls(process, own, archive)
        jvm.python, jvm.properties = python_of(settings, given), values
        return jvm

    @property
    def pid(self) -> int:
        return self._process.pid

    def address(self) -> Address | None:
        """Return its address, or None while it is not known; raises `SparkFailed` if the JVM has exited."""
        try:
            gateway = (self._folder.path / "gateway").read_bytes()
        except FileNotFoundError:
            if self._process.poll() is not None:
                raise SparkFailed(self.explain("Spark's JVM exited during its start")) from None
            return None
        port, length = struct.unpack_from(">ii", gateway)
        return Address(port, gateway[8 : 8 + length].decode())

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def explain(self, what: str) -> str:
        """Append the reason from Spark's output to a message: its exception, or else the last lines."""
        with suppress(OSError):
            text = (self._folder.path / "spark.log").read_text(errors="replace")
            if message := java_message(text):
                return f"{what}: {message}"
            lines = [line.strip() for line in text.splitlines() if not _NOISE.match(line)]
            if quoted := " | ".join(line for line in lines[-_QUOTED_LINES:] if line):
                return f"{what}; its last output: {quoted}"
        return what

    def end(self) -> None:
        """Let it exit, kill it if it does not, and keep only the archive that it may have left. Blocks."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(_END_S)
            self._keep_archive()
        except subprocess.TimeoutExpired:
            self._process.kill()
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill it and wait for its exit. Blocks."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._folder.remove()

    def _keep_archive(self) -> None:
        made, wanted = self._archive.made, self._archive.wanted
        if made is not None and wanted is not None and made.is_file():
            part = wanted.with_name(f"{wanted.name}.{self.pid}")
            shutil.move(made, part)  # the folders may be on different file systems
            part.replace(wanted)


def java_message(text: str) -> str | None:
    """Return the message of the first Java exception in a text, without its class and its stack trace."""
    found = _EXCEPTION.search(text)
    return None if found is None else found[2] or found[1]


def _version(home: Path) -> str:
    """Return Spark's version from the names of its jars, without importing pyspark."""
    cores = sorted((home / "jars").glob("spark-core_*.jar"))
    return cores[0].stem.removeprefix("spark-core_") if cores else "unknown"
