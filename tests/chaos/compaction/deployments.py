"""Deployments to test: one settings file for all processes, and the servers it names.

`embedded` needs no servers: SQLite, a directory, a catalog in SQLite. `s3` has the objects on a real S3
server and the tables in Apache's REST catalog; `rest` has only the latter. Intervals that default to minutes
are seconds here.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dray.settings import DraySettings, load_settings
from dray.testing import seaweedfs
from tests.chaos.compaction.catalogs import RestCatalog, on_s3

_SHORT_INTERVALS: dict[str, dict[str, Any]] = {
    "log": {"wal_gc_grace_ms": 5_000, "file_gc_grace_ms": 5_000, "producer_snapshot_entries": 16},
    "compaction": {
        "interval_ms": 200,
        "wal_age_ms_max": 1_500,
        "file_bytes_target": 200_000,
        "merge_files_min": 3,
        "retry_backoff_ms_min": 200,
        "retry_backoff_ms_max": 1_000,
        "snapshot_age_ms_max": 1_000,
        "snapshot_expiry_commits": 3,
        "table_orphan_ttl_ms": 60_000,
        "table_sweep_interval_ms": 10_000,
    },
    "spark": {"master": "local[2,3]"},
}


@dataclass(frozen=True, slots=True)
class Deployment:
    """The settings shared by all processes, and the catalog server, if there is one."""

    config: Path
    catalog: RestCatalog | None = None

    @property
    def settings(self) -> DraySettings:
        return load_settings(str(self.config), {}, {}, ()).settings


Deploy = Callable[[Path], AbstractContextManager[Deployment]]


@contextmanager
def embedded(directory: Path) -> Iterator[Deployment]:
    yield Deployment(_config(directory, _local(directory), f"sqlite:{directory}/tables.sqlite"))


@contextmanager
def rest(directory: Path) -> Iterator[Deployment]:
    """The catalog is a server; objects are in a directory that it can reach too."""
    catalog = RestCatalog(directory, {})
    with _running(catalog):
        yield Deployment(_config(directory, _local(directory), catalog.uri), catalog)


@contextmanager
def s3(directory: Path) -> Iterator[Deployment]:
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
        catalog = RestCatalog(directory, on_s3(server.endpoint))
        with _running(catalog):
            yield Deployment(_config(directory, storage, catalog.uri), catalog)


@contextmanager
def _running(catalog: RestCatalog) -> Iterator[None]:
    catalog.start()
    try:
        yield
    finally:
        catalog.end()


def _local(directory: Path) -> dict[str, Any]:
    return {"url": f"file:{directory}/objects"}


def _config(directory: Path, storage: dict[str, Any], catalog: str) -> Path:
    settings = {
        **_SHORT_INTERVALS,
        "metadata": {"url": f"sqlite:{directory}/metadata.sqlite", "session_ttl_ms": 2_000},
        "storage": storage,
        "tables": {"catalog": catalog, "request_timeout_ms": 5_000},
    }
    config = directory / "dray.yaml"
    config.write_text(json.dumps(settings))  # JSON is YAML; a secret cannot be a flag
    return config
