"""Settings of an Iceberg catalog and its warehouse."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dray.runtime import RetrySettings
from dray.tables.iceberg.bucket_io import FindFile


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Access:
    """The object store's S3 settings, for PyIceberg's FileIO.

    pyarrow looks up missing ones in the environment and on the machine.
    """

    endpoint: str | None = None
    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    virtual_hosted: bool = False
    connect_s: float = 5.0
    request_s: float = 30.0

    def properties(self) -> dict[str, str]:
        """Return them as PyIceberg properties."""
        properties = {
            "s3.endpoint": self.endpoint,
            # Without a region PyIceberg asks AWS for the bucket's, even if the endpoint is elsewhere.
            "s3.region": self.region or ("us-east-1" if self.endpoint else None),
            "s3.access-key-id": self.access_key,
            "s3.secret-access-key": self.secret_key,
            "s3.session-token": self.session_token,
            "s3.force-virtual-addressing": "true" if self.virtual_hosted else None,
            "s3.connect-timeout": str(self.connect_s),
            "s3.request-timeout": str(self.request_s),
        }
        return {name: value for name, value in properties.items() if value is not None}


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

    `files` reads and writes metadata files in a bucket; without it pyarrow does.
    """

    catalog: SqlCatalogSettings | RestCatalogSettings
    root: str
    cluster_id: str
    s3: S3Access | None = None
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
