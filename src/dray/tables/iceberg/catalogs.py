"""Connections to Iceberg catalogs: SQLite, REST or Glue.

PyIceberg's REST client has no request timeout; here every request has one, those for tokens too.

A SQLite file that was deleted or replaced stays open, and no other process would see what is written to it;
`file_of` identifies the file, so that the adapter notices.
"""

import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.rest import SNAPSHOT_LOADING_MODE, RestCatalog
from pyiceberg.catalog.sql import SqlCatalog, SqlCatalogBaseTable
from requests.adapters import BaseAdapter, HTTPAdapter
from sqlalchemy import Connection, create_engine
from sqlalchemy.pool import NullPool

from dray.runtime import LazyModule
from dray.tables.iceberg import bucket_io, durable_io
from dray.tables.iceberg.avro import use_bounded_decoder
from dray.tables.iceberg.moved import forget_moved
from dray.tables.iceberg.settings import (
    GlueCatalogSettings,
    IcebergSettings,
    RestCatalogSettings,
    SqlCatalogSettings,
)

if TYPE_CHECKING:
    from dray.tables.iceberg import glue
else:  # boto3 is optional
    glue = LazyModule("dray.tables.iceberg.glue")

_CONNECTIONS: Final = 10
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
    if isinstance(settings.catalog, GlueCatalogSettings):
        return glue.open_glue(settings.catalog, io)
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
    if catalog.signing is not None:
        properties |= catalog.signing.properties()
    if catalog.warehouse is not None:
        properties["warehouse"] = catalog.warehouse
    opened = _TimedRestCatalog(catalog, properties)
    # Overrides user and server: an orphan sweep that sees only some snapshots would delete the others' files.
    opened.properties[SNAPSHOT_LOADING_MODE] = "all"
    return opened


class _TimedRestCatalog(RestCatalog):
    """PyIceberg's client, with a timeout for every request and authorities of its own."""

    def __init__(self, catalog: RestCatalogSettings, properties: Mapping[str, str]) -> None:
        self._request_s = catalog.request_s
        self._trust = _trust(catalog.authorities)
        super().__init__(catalog.name, **properties)

    def _config_headers(self, session: requests.Session) -> None:
        """Set the headers, and the timeout before PyIceberg requests a token."""
        super()._config_headers(session)
        for scheme in ("http://", "https://"):
            session.mount(scheme, _TimedAdapter(self._request_s, self._trust))

    def _init_sigv4(self, session: requests.Session) -> None:
        """Sign requests to the catalog; these go through an adapter of PyIceberg's."""
        super()._init_sigv4(session)
        signing = session.get_adapter(self.uri)
        assert isinstance(signing, HTTPAdapter)
        signing.init_poolmanager(_CONNECTIONS, _CONNECTIONS, ssl_context=self._trust)
        session.mount(self.uri, _TimedSigning(signing, self._request_s))


def _trust(authorities: str | None) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authorities is not None:
        try:
            context.load_verify_locations(authorities)
        except OSError as error:
            what = f"cannot read certificates from tables.tls_ca_file {authorities}"
            raise OSError(f"{what}: {error}") from error
    return context


class _TimedAdapter(HTTPAdapter):
    """Sends each request once; retries are up to the caller."""

    def __init__(self, request_s: float, trust: ssl.SSLContext) -> None:
        self._request_s = request_s
        self._trust = trust
        super().__init__(max_retries=0)

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - those of urllib3
        super().init_poolmanager(*arguments, **options, ssl_context=self._trust)

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]  # noqa: ANN401
        return super().send(request, **{**options, "timeout": self._request_s})


class _TimedSigning(BaseAdapter):
    """An adapter that signs, with a timeout."""

    def __init__(self, signing: HTTPAdapter, request_s: float) -> None:
        super().__init__()
        self._signing = signing
        self._request_s = request_s

    def send(self, request: requests.PreparedRequest, **options: Any) -> requests.Response:  # type: ignore[override]  # noqa: ANN401
        return self._signing.send(request, **{**options, "timeout": self._request_s})

    def close(self) -> None:
        self._signing.close()
