"""Connections to Iceberg catalogs: SQLite or REST.

PyIceberg's REST client has no request timeout; here every request has one.

A SQLite file that was deleted or replaced stays open, and no other process would see what is written to it;
`file_of` identifies the file, so that the adapter notices.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import SNAPSHOT_LOADING_MODE, RestCatalog
from pyiceberg.catalog.sql import SqlCatalog, SqlCatalogBaseTable
from requests.adapters import HTTPAdapter
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from dray.tables.iceberg import bucket_io, durable_io
from dray.tables.iceberg.avro import use_bounded_decoder
from dray.tables.iceberg.moved import forget_moved
from dray.tables.iceberg.settings import IcebergSettings, RestCatalogSettings, SqlCatalogSettings

CatalogFile = tuple[int, int] | None


use_bounded_decoder()


def open_catalog(settings: IcebergSettings, *, forgets_moved: bool = False) -> Catalog:
    """Connect to the catalog. Blocks; a REST catalog is asked for its configuration at once.

    `forgets_moved`: drop the entries of tables whose files have been moved; the caller creates them again.
    """
    files = settings.files
    io = {"py-io-impl": durable_io.NAME} if files is None else bucket_io.properties(files)
    if isinstance(settings.catalog, SqlCatalogSettings):
        return _sql(settings.catalog, settings, io, forgets_moved=forgets_moved)
    return _rest(settings.catalog, io)


def file_of(settings: IcebergSettings) -> CatalogFile:
    """Return device and inode of the catalog's file; None if there is no such file."""
    if not isinstance(settings.catalog, SqlCatalogSettings):
        return None
    try:
        found = Path(settings.catalog.path).stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _sql(
    catalog: SqlCatalogSettings, settings: IcebergSettings, io: dict[str, str], *, forgets_moved: bool
) -> Catalog:
    uri = f"sqlite:///{catalog.path}"
    with _locked(uri) as connection:
        # PyIceberg creates these tables too, but fails when two processes do so at once.
        SqlCatalogBaseTable.metadata.create_all(connection)
        if forgets_moved:
            forget_moved(connection, catalog.name, settings.namespace, settings.root)
    return SqlCatalog(catalog.name, uri=uri, warehouse=settings.root, **io)


@contextmanager
def _locked(uri: str) -> Iterator[Connection]:
    """Run one exclusive transaction."""
    engine = create_engine(uri, isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
        connection.exec_driver_sql("COMMIT")


def _rest(catalog: RestCatalogSettings, io: dict[str, str]) -> Catalog:
    properties = {"uri": catalog.uri, **io, **catalog.properties}
    if catalog.warehouse is not None:
        properties["warehouse"] = catalog.warehouse
    opened = _TimedRestCatalog(catalog.name, catalog.request_s, **properties)
    # Overrides user and server: an orphan sweep that sees only some snapshots would delete the others' files.
    opened.properties[SNAPSHOT_LOADING_MODE] = "all"
    return opened


class _TimedRestCatalog(RestCatalog):
    def __init__(self, name: str, request_s: float, **properties: str) -> None:
        self._request_s = request_s
        super().__init__(name, **properties)

    def _create_session(self) -> requests.Session:
        session = super()._create_session()
        for scheme in ("http://", "https://"):
            session.mount(scheme, _TimedAdapter(self._request_s))
        return session


class _TimedAdapter(HTTPAdapter):
    """Sends each request once; retries are up to the caller."""

    def __init__(self, request_s: float) -> None:
        self._request_s = request_s
        super().__init__(max_retries=0)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]  # noqa: ANN401
        return super().send(request, **{**options, "timeout": self._request_s})
