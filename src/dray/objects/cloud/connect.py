"""Cloud stores from a storage URL and settings; no request is sent until the first call.

obstore retries only for `CloudFiles`; for the port's stores `Retrying` does. Secrets are never printed, not
even by `repr`. obstore takes unset settings from the environment and the machine, as the vendors' own tools
do: for S3 from `AWS_*` variables, a web identity token, the container and the instance, in this order, and it
renews what expires. Only profiles need boto3.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from dray.objects.cloud.errors import StoreLocation
from dray.objects.cloud.files import CloudFiles
from dray.objects.cloud.store import CloudObjects
from dray.objects.port import StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import Clock, LazyModule

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Credential
    from obstore.store import ObjectStore as Obstore

    from dray.objects.cloud import aws_profile
else:  # boto3 is optional, and slow to import
    aws_profile = LazyModule("dray.objects.cloud.aws_profile")

# Google's form for emulators. With `skip_signature` obstore would still ask for credentials before a put.
_NO_KEY: Final = '{"disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}'
_FILE_RETRIES: Final = 3
_CERTIFICATE: Final = b"-----BEGIN CERTIFICATE-----"

_S3_PUT_BYTES_MAX: Final = 5 * 1024**3
_GCS_PUT_BYTES_MAX: Final = 5 * 1024**4
_AZURE_PUT_BYTES_MAX: Final = 5_000 * 1024**2
"""The limits of one upload: PutObject, an upload of the XML API, Put Blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connection:
    """Settings common to all: endpoint, plain HTTP, timeouts, and retries inside obstore.

    `authorities` is the path of a PEM file with certificates that are trusted besides the system's.
    """

    endpoint: str | None = None
    allow_http: bool = False
    authorities: str | None = None
    connect_s: float = 5.0
    request_s: float = 30.0
    retries: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Encryption:
    """Server-side encryption of the objects that are written, in the words of S3's headers.

    With `sse-c` the customer's key (256 bits, base64) is also sent with every read.
    """

    algorithm: Literal["AES256", "aws:kms", "aws:kms:dsse", "sse-c"]
    kms_key_id: str | None = None
    bucket_key: bool = False
    customer_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings(_Connection):
    """`unsigned_payload` saves a SHA-256 per byte; TLS protects the transfer, the formats have checksums.

    `profile` is one of AWS's own configuration files, in place of keys.
    """

    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    profile: str | None = None
    virtual_hosted: bool = False
    unsigned_payload: bool = True
    encryption: S3Encryption | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GcsSettings(_Connection):
    """`service_account_path` is the path of a key file, `service_account_key` its content.

    An endpoint with plain HTTP is an emulator: without a key, requests are sent without credentials.
    """

    service_account_path: str | None = None
    service_account_key: str | None = field(default=None, repr=False)

    def key(self) -> str | None:
        """Return the content of the key; None if it is in a file, or left to obstore."""
        is_emulator = self.endpoint is not None and self.endpoint.startswith("http:")
        if is_emulator and self.service_account_path is None and self.service_account_key is None:
            return _NO_KEY
        return self.service_account_key


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureSettings(_Connection):
    """A storage account with its key or a SAS token."""

    account: str | None = None
    account_key: str | None = field(default=None, repr=False)
    sas_token: str | None = field(default=None, repr=False)


def open_s3(url: StorageUrl, settings: S3Settings, clock: Clock) -> CloudObjects:
    return CloudObjects(*_s3(url, settings), clock, _S3_PUT_BYTES_MAX)


def open_s3_files(url: StorageUrl, settings: S3Settings) -> CloudFiles:
    return CloudFiles(*_s3(url, replace(settings, retries=_FILE_RETRIES)))


def open_gcs(url: StorageUrl, settings: GcsSettings, clock: Clock) -> CloudObjects:
    return CloudObjects(*_gcs(url, settings), clock, _GCS_PUT_BYTES_MAX)


def open_gcs_files(url: StorageUrl, settings: GcsSettings) -> CloudFiles:
    return CloudFiles(*_gcs(url, replace(settings, retries=_FILE_RETRIES)))


def open_azure(url: StorageUrl, settings: AzureSettings, clock: Clock) -> CloudObjects:
    return CloudObjects(*_azure(url, settings), clock, _AZURE_PUT_BYTES_MAX)


def open_azure_files(url: StorageUrl, settings: AzureSettings) -> CloudFiles:
    return CloudFiles(*_azure(url, replace(settings, retries=_FILE_RETRIES)))


def _s3(url: StorageUrl, settings: S3Settings) -> tuple["Obstore", StoreLocation]:
    config = {
        "endpoint": settings.endpoint,
        "region": settings.region,
        "access_key_id": settings.access_key,
        "secret_access_key": settings.secret_key,
        "session_token": settings.session_token,
        "virtual_hosted_style_request": settings.virtual_hosted,
        "unsigned_payload": settings.unsigned_payload,
        **_encryption(settings.encryption),
    }
    location = _location(url, settings, f"S3 in {settings.region or 'the default region'}")
    kind: Callable[..., Obstore] = S3Store
    if settings.profile is not None:
        kind = partial(S3Store, credential_provider=_profile(settings.profile, location))
    return _opened(kind, url, config, settings, location), location


def _encryption(encryption: S3Encryption | None) -> dict[str, object]:
    if encryption is None:
        return {}
    return {
        "server_side_encryption": encryption.algorithm,
        "sse_kms_key_id": encryption.kms_key_id,
        "sse_bucket_key_enabled": encryption.bucket_key,
        "sse_customer_key_base64": encryption.customer_key,
    }


def _profile(name: str, location: StoreLocation) -> "Callable[[], S3Credential]":
    try:
        return aws_profile.credentials_of(name)
    except (ImportError, ValueError) as error:
        raise StoreUnusable(f"{location}: {error}") from error


def _gcs(url: StorageUrl, settings: GcsSettings) -> tuple["Obstore", StoreLocation]:
    config = {
        "base_url": settings.endpoint,
        "service_account": settings.service_account_path,
        "service_account_key": settings.key(),
    }
    location = _location(url, settings, "Google Cloud Storage")
    return _opened(GCSStore, url, config, settings, location), location


def _azure(url: StorageUrl, settings: AzureSettings) -> tuple["Obstore", StoreLocation]:
    config = {
        "endpoint": settings.endpoint,
        "account_name": settings.account,
        "account_key": settings.account_key,
        "sas_key": settings.sas_token,
    }
    location = _location(url, settings, f"Azure account {settings.account}")
    return _opened(AzureStore, url, config, settings, location), location


def _opened(
    kind: "Callable[..., Obstore]",
    url: StorageUrl,
    config: Mapping[str, object],
    settings: _Connection,
    location: StoreLocation,
) -> "Obstore":
    """Create an obstore store; settings that are not given are left to it."""
    try:
        return kind(
            url.bucket,
            prefix=url.path or None,
            config={name: value for name, value in config.items() if value not in (None, False)},
            client_options=_client(settings, location),
            retry_config=_retries(settings),
        )
    except BaseError as error:
        reason = str(error).partition("Debug source")[0].strip()
        raise StoreUnusable(f"{location}: {reason}; check the settings") from None


def _retries(settings: _Connection) -> "RetryConfig":
    budget = timedelta(seconds=settings.request_s if settings.retries else 0)
    return {"max_retries": settings.retries, "retry_timeout": budget}


def _client(settings: _Connection, location: StoreLocation) -> "ClientConfig":
    options: ClientConfig = {
        "allow_http": settings.allow_http,
        "connect_timeout": timedelta(seconds=settings.connect_s),
        "timeout": timedelta(seconds=settings.request_s),
    }
    if settings.authorities is not None:
        options["root_certificate"] = _authorities(settings.authorities, location)
    return options


def _authorities(path: str, location: StoreLocation) -> bytes:
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise StoreUnusable(f"{location}: cannot read {path}: {error.strerror}") from error
    if _CERTIFICATE not in content:
        raise StoreUnusable(f"{location}: {path} contains no certificate; expected a PEM file")
    return content


def _location(url: StorageUrl, settings: _Connection, default: str) -> StoreLocation:
    """Return the location for messages; refuses an endpoint that obstore would only fail on later."""
    endpoint = settings.endpoint
    if endpoint is None:
        return StoreLocation(str(url), default)
    if not _is_address(endpoint):
        raise StoreUnusable(
            f"{url}: endpoint {endpoint!r} is not an address; expected https://host or http://host:port"
        )
    if endpoint.startswith("http:") and not settings.allow_http:
        raise StoreUnusable(f"{url}: endpoint {endpoint!r} is not encrypted; use https or allow plain HTTP")
    return StoreLocation(str(url), endpoint)


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return complete and endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
