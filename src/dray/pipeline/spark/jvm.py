"""Spark's JVM as a process of ours, from its start until it is gone.

What it and the Python workers write goes to a file in the session's folder: nothing of it belongs on
anybody's terminal, and its end is told when something fails. The JVM ends when its standard input does, so
it never outlives us; the Python workers end when the JVM does.
"""

import shutil
import struct
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dray.pipeline.engine import EngineFailed
from dray.pipeline.spark.java import Java
from dray.pipeline.spark.launch import (
    Archive,
    archive_of,
    command,
    environment,
    properties,
    properties_text,
    python_of,
)
from dray.pipeline.spark.own_folder import OwnFolder
from dray.pipeline.spark.settings import SparkSettings

_END_S: Final = 60.0
_TOLD_LINES: Final = 5


class SparkFailed(EngineFailed):
    """Spark did not start, or nobody works for it."""


@dataclass(frozen=True, slots=True)
class Address:
    """How the JVM is reached by py4j."""

    port: int
    secret: str


class Jvm:
    """A JVM that was started; `folder` is its own, and goes with it."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: OwnFolder, archive: Archive) -> None:
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
        own: OwnFolder,
        given: Mapping[str, str],
    ) -> "Jvm":
        """Start it in a folder of its own, which is empty."""
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
                start_new_session=True,  # a Ctrl-C in the terminal is for us; we end the JVM in our own time
            )
        jvm = cls(process, own, archive)
        jvm.python, jvm.properties = python_of(settings, given), values
        return jvm

    @property
    def pid(self) -> int:
        return self._process.pid

    def address(self) -> Address | None:
        """Return how it is reached, or None while it does not say; raises `SparkFailed` when it has ended."""
        try:
            told = (self._folder.path / "gateway").read_bytes()
        except FileNotFoundError:
            if self._process.poll() is not None:
                raise SparkFailed(self.explain("Spark's JVM ended at its start")) from None
            return None
        port, length = struct.unpack_from(">ii", told)
        return Address(port, told[8 : 8 + length].decode())

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def explain(self, what: str) -> str:
        """Add the last that Spark wrote to what happened."""
        with suppress(OSError):
            lines = (self._folder.path / "spark.log").read_text(errors="replace").splitlines()
            if said := " | ".join(line.strip() for line in lines[-_TOLD_LINES:] if line.strip()):
                return f"{what}; the last it wrote: {said}"
        return what

    def end(self) -> None:
        """Let it end by itself, then make it; keep the archive it may have left, and nothing else. Blocks."""
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
        """End it at once. Blocks, for as long as that takes."""
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
            shutil.move(made, part)  # it may come from another disk
            part.replace(wanted)


def _version(home: Path) -> str:
    """Return Spark's version, which its jars tell even where its Python part is not imported."""
    cores = sorted((home / "jars").glob("spark-core_*.jar"))
    return cores[0].stem.removeprefix("spark-core_") if cores else "unknown"
