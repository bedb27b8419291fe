"""The Iceberg catalog that the sections `tables` and `storage` describe.

Imports PyIceberg, so only code that needs tables imports this module.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from dray.objects.url import StorageUrl, parse_storage_url
from dray.runtime import Clock, Entropy, LazyModule
from dray.server.errors import StartupError, require
from dray.server.store_urls import GLUE, SQLITE
from dray.settings.secret import Secret
from dray.settings.storage import StorageSettings
from dray.settings.tables import TablesSettings
from dray.tables.iceberg import (
    AwsAccess,
    AwsSigning,
    GlueCatalogSettings,
    IcebergSettings,
    IcebergTables,
    RestCatalogSettings,
    SqlCatalogSettings,
)

if TYPE_CHECKING:
    from dray.server import table_files
else:  # the cloud libraries are loaded only by a process that uses them
    table_files = LazyModule("dray.server.table_files")


def open_tables(
    tables: TablesSettings,
    storage: StorageSettings,
    cluster_id: str,
    clock: Clock,
    entropy: Entropy,
    *,
    forgets_moved: bool = False,
) -> IcebergTables:
    """Open the catalog; no request is sent until the first call."""
    settings = iceberg_settings(tables, storage, cluster_id)
    return IcebergTables(settings, clock, entropy, forgets_moved=forgets_moved)


def iceberg_settings(tables: TablesSettings, storage: StorageSettings, cluster_id: str) -> IcebergSettings:
    url = parse_storage_url(storage.url)
    return IcebergSettings(
        catalog=_catalog(tables, storage),
        root=table_root(url, storage.account),
        cluster_id=cluster_id,
        files=table_files.FindTableFile(storage) if url.scheme in ("s3", "gs", "az") else None,
        namespace=tables.namespace,
    )


def table_root(url: StorageUrl, account: str | None) -> str:
    """Return the URL of the object store's root as Iceberg metadata contains it and every engine reads it."""
    if url.scheme == "memory":
        raise StartupError("a topic in memory has no table; choose a directory or a bucket with --storage")
    if url.scheme == "file":
        return _directory(Path(url.path).absolute())
    if url.scheme == "az":
        if account is None:
            raise StartupError("storage.account is not set; the URLs of tables on Azure contain it")
        where = f"abfss://{url.bucket}@{account}.dfs.core.windows.net"
    else:
        where = f"{url.scheme}://{url.bucket}"
    return f"{where}/{url.path}" if url.path else where


def _directory(path: Path) -> str:
    """Return a directory's URL without percent-encoding, which no engine decodes."""
    if wrong := next((one for one in "#?" if one in str(path)), None):
        raise StartupError(
            f"tables cannot be in {path}: Iceberg readers cut paths at {wrong!r}; choose another directory"
        )
    return f"file://{path}"


def _catalog(
    tables: TablesSettings, storage: StorageSettings
) -> SqlCatalogSettings | RestCatalogSettings | GlueCatalogSettings:
    request_s = tables.request_timeout_ms / 1000
    if tables.catalog.startswith(SQLITE):
        return SqlCatalogSettings(path=str(Path(tables.catalog.removeprefix(SQLITE)).absolute()))
    if tables.catalog.startswith(GLUE):
        require(("boto3",), "aws")
        catalog_id = tables.catalog.removeprefix(GLUE) or None
        return GlueCatalogSettings(access=_aws(tables, storage), catalog_id=catalog_id, request_s=request_s)
    return RestCatalogSettings(
        uri=tables.catalog,
        warehouse=tables.warehouse,
        properties=_authorization(tables),
        authorities=tables.tls_ca_file,
        signing=_signing(tables, storage),
        request_s=request_s,
    )


def _authorization(tables: TablesSettings) -> dict[str, str]:
    """Return PyIceberg's properties; left to itself it warns before it asks the catalog for a token."""
    token_uri = f"{tables.catalog.rstrip('/')}/v1/oauth/tokens" if tables.credential else None
    given = {
        "credential": _revealed(tables.credential),
        "token": _revealed(tables.token),
        "scope": tables.scope,
        "oauth2-server-uri": tables.oauth2_uri or token_uri,
    }
    return {name: value for name, value in given.items() if value is not None}


def _signing(tables: TablesSettings, storage: StorageSettings) -> AwsSigning | None:
    if tables.signing_name is None:
        return None
    require(("boto3",), "aws")
    return AwsSigning(service=tables.signing_name, access=_aws(tables, storage))


def _aws(tables: TablesSettings, storage: StorageSettings) -> AwsAccess:
    """Return the credentials of the bucket; without any, boto3 finds the same as obstore."""
    return AwsAccess(
        region=tables.aws_region or storage.region,
        access_key=storage.access_key_id,
        secret_key=_revealed(storage.secret_access_key),
        session_token=_revealed(storage.session_token),
        profile=storage.profile,
    )


def _revealed(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
