"""What an ordeal stands on: a settings file for every process, and the servers behind it.

`embedded` is what one machine has: SQLite, a directory, a catalogue in SQLite. `served` has the objects on a
real S3 server and the tables at Apache's REST catalogue; `rest` only the latter. Everything that takes
minutes by default takes seconds here.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dray.cli.settings import DraySettings, load_settings
from dray.testing import seaweedfs
from tests.chaos.compaction.catalogues import RestCatalogue, on_s3

_QUICK: dict[str, dict[str, Any]] = {
    "log": {"wal_gc_grace_ms": 5_000, "file_gc_grace_ms": 5_000, "producer_snapshot_entries": 16},
    "compaction": {
        "interval_ms": 200,
        "wal_age_ms_max": 1_500,
        "file_bytes": 200_000,
        "merge_files_min": 3,
        "retry_ms_min": 200,
        "retry_ms_max": 1_000,
        "snapshot_age_ms_max": 1_000,
        "expire_commits": 3,
        "table_orphan_ttl_ms": 60_000,
        "table_sweep_interval_ms": 10_000,
    },
    "spark": {"master": "local[2,3]"},
}


@dataclass(frozen=True, slots=True)
class Ground:
    """The settings that all processes share, and the catalogue, if that is a process."""

    config: Path
    catalogue: RestCatalogue | None = None

    @property
    def settings(self) -> DraySettings:
        return load_settings(str(self.config), {}, {}, ()).settings


Lay = Callable[[Path], AbstractContextManager[Ground]]


@contextmanager
def embedded(directory: Path) -> Iterator[Ground]:
    yield Ground(_config(directory, _local(directory), f"sqlite:{directory}/tables.sqlite"))


@contextmanager
def rest(directory: Path) -> Iterator[Ground]:
    """The catalogue is a process; objects are in a directory, which it must reach as well."""
    catalogue = RestCatalogue(directory, {})
    with _running(catalogue):
        yield Ground(_config(directory, _local(directory), catalogue.uri), catalogue)


@contextmanager
def served(directory: Path) -> Iterator[Ground]:
    home = directory / "seaweedfs"
    home.mkdir()
    with seaweedfs.serve(home) as server:
        server.make_bucket("dray")
        access = server.settings("writer")
        storage = {
            "url": "s3://dray/chaos",
            "endpoint": access.endpoint,
            "allow_http": True,
            "region": access.region,
            "access_key_id": access.access_key,
            "secret_access_key": access.secret_key,
        }
        catalogue = RestCatalogue(directory, on_s3(server.endpoint))
        with _running(catalogue):
            yield Ground(_config(directory, storage, catalogue.uri), catalogue)


@contextmanager
def _running(catalogue: RestCatalogue) -> Iterator[None]:
    catalogue.start()
    try:
        yield
    finally:
        catalogue.end()


def _local(directory: Path) -> dict[str, Any]:
    return {"url": f"file:{directory}/objects"}


def _config(directory: Path, storage: dict[str, Any], catalogue: str) -> Path:
    settings = {
        **_QUICK,
        "metadata": {"url": f"sqlite:{directory}/metadata.sqlite", "session_ttl_ms": 2_000},
        "storage": storage,
        "tables": {"catalog": catalogue, "request_timeout_ms": 5_000},
    }
    config = directory / "dray.yaml"
    config.write_text(json.dumps(settings))  # JSON is YAML; a secret cannot be a flag
    return config
