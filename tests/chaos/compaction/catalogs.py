"""Apache's REST catalog server as a process that can be killed."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dray.testing.ports import free_port
from tests.agreement import cluster as agreement
from tests.chaos.compaction.processes import ServerProcess
from tests.oracle.cache import made
from tests.oracle.jars import QUICK, fetched
from tests.tables.rest import server as loopback

_HERE: Final = Path(loopback.__file__).parent
_POM, _MAIN = _HERE / "pom.xml", _HERE / "LoopbackCatalog.java"
_S3_POM: Final = Path(agreement.__file__).with_name("pom-s3.xml")


def _jars() -> Path:
    return fetched(f"iceberg-rest-{loopback.VERSION}", _POM)


def _classes() -> Path:
    """Return the compiled server, built once so that starting it is quick."""

    def compile_into(folder: Path) -> None:
        subprocess.run(
            ["javac", "-cp", f"{_jars()}/*", "-d", str(folder), str(_MAIN)], check=True, timeout=120
        )

    return made("iceberg-rest-classes", [_MAIN, _POM], compile_into)


def on_s3(endpoint: str) -> dict[str, str]:
    """Return the properties of a catalog that keeps its metadata on an S3 server."""
    return {**agreement.Spread(endpoint, "", "").java, "http-client.type": "urlconnection"}


class RestCatalog(ServerProcess):
    """The server, on the same port after every restart, with its files in `directory`."""

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
        super().__init__("catalog", command, directory, str(port))
