"""Where an ordeal's tables are listed: in a SQLite file, or by Apache's REST server, which can be killed."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.agreement import cluster as agreement
from tests.brokers import free_port
from tests.chaos.compaction.processes import Life
from tests.oracle.cache import made
from tests.oracle.jars import QUICK, fetched
from tests.tables.rest import server as loopback

_HERE: Final = Path(loopback.__file__).parent
_POM, _MAIN = _HERE / "pom.xml", _HERE / "LoopbackCatalog.java"
_S3_POM: Final = Path(agreement.__file__).with_name("pom-s3.xml")


def _jars() -> Path:
    return fetched(f"iceberg-rest-{loopback.VERSION}", _POM)


def _classes() -> Path:
    """Compiled once, as its start should not take longer than that of the rest."""

    def compile_into(folder: Path) -> None:
        subprocess.run(
            ["javac", "-cp", f"{_jars()}/*", "-d", str(folder), str(_MAIN)], check=True, timeout=120
        )

    return made("iceberg-rest-classes", [_MAIN, _POM], compile_into)


def on_s3(endpoint: str) -> dict[str, str]:
    """Return the properties of a catalogue that keeps metadata on that server."""
    return {**agreement.Spread(endpoint, "", "").java, "http-client.type": "urlconnection"}


class RestCatalogue(Life):
    """The server, on one port through all its lives, with its files in `directory`."""

    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        port = free_port()
        self.uri = f"http://127.0.0.1:{port}"
        folders = [_classes(), _jars()]
        if properties:
            folders.append(fetched("iceberg-s3", _S3_POM))
        path = ":".join([str(folders[0]), *(f"{folder}/*" for folder in folders[1:])])
        command = [
            *("java", "-Xmx256M", *QUICK, f"-Dport={port}", "-cp", path, _MAIN.stem),
            *(str(directory / "catalog.db"), (directory / "warehouse").as_uri()),
            *(f"{name}={value}" for name, value in properties.items()),
        ]
        super().__init__("catalogue", command, directory, str(port))
