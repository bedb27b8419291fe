"""Settings of an Iceberg catalog and its warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dray.runtime import RetrySettings
from dray.tables.iceberg.bucket_io import FindFile


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlCatalogSettings:
    """A catalog in a SQLite file, for brokers and compactors on one machine.

    `name` is part of every key in that file: under another name, its tables are invisible.
    """

    path: str
    name: str = "dray"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestCatalogSettings:
    """A catalog with Iceberg's REST API.

    `properties` are PyIceberg's (credential, token, oauth2-server-uri, rest.sigv4-enabled and so on).
    """

    uri: str
    warehouse: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    request_s: float = 30.0
    name: str = "dray"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSettings:
    """Settings of the adapter; `root` is the URL of the object store's root.

    `files` reads and writes metadata files in a bucket; without it, they are on a disk.
    """

    catalog: SqlCatalogSettings | RestCatalogSettings
    root: str
    cluster_id: str
    files: FindFile | None = field(default=None, repr=False)
    namespace: str = "dray"
    threads: int = 4
    attempts: RetrySettings = field(
        default_factory=lambda: RetrySettings(first_ms=20, max_ms=1_000, budget_ms=10_000, attempts=8)
    )

    def __post_init__(self) -> None:
        if not self.root.startswith(("file:///", "s3://", "gs://", "abfss://")) or self.root.endswith("/"):
            raise ValueError(
                f"{self.root!r}: expected file:///directory or s3://bucket/prefix, without a trailing slash"
            )
