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
class AwsAccess:
    """Credentials of AWS for boto3, which looks up missing ones in the environment and on the machine."""

    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    profile: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AwsSigning:
    """Signing of requests (Signature Version 4) for a service, such as `glue` or `s3tables`."""

    service: str
    access: AwsAccess

    def properties(self) -> dict[str, str]:
        """Return PyIceberg's properties."""
        properties = {
            "rest.sigv4-enabled": "true",
            "rest.signing-name": self.service,
            "rest.signing-region": self.access.region,
            "rest.sigv4.max-retries": "0",
            "client.region": self.access.region,
            "client.profile-name": self.access.profile,
            "client.access-key-id": self.access.access_key,
            "client.secret-access-key": self.access.secret_key,
            "client.session-token": self.access.session_token,
        }
        return {name: value for name, value in properties.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class RestCatalogSettings:
    """A catalog with Iceberg's REST API.

    `properties` are PyIceberg's (credential, token, oauth2-server-uri and so on). `authorities` is the path
    of a PEM file with certificates that are trusted besides the system's.
    """

    uri: str
    warehouse: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    authorities: str | None = None
    signing: AwsSigning | None = None
    request_s: float = 30.0
    name: str = "dray"


@dataclass(frozen=True, slots=True, kw_only=True)
class GlueCatalogSettings:
    """AWS Glue; `catalog_id` is the account, if it is another than that of the credentials."""

    access: AwsAccess
    catalog_id: str | None = None
    request_s: float = 30.0
    name: str = "dray"


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSettings:
    """Settings of the adapter; `root` is the URL of the object store's root.

    `files` reads and writes metadata files in a bucket; without it, they are on a disk.
    """

    catalog: SqlCatalogSettings | RestCatalogSettings | GlueCatalogSettings
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
