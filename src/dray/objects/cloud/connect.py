"""From a storage URL and settings to a store. Nothing is sent until the first call.

obstore's own retries are off: `Retrying` owns them. Secrets are never shown, not even by `repr`. What is
left out of the settings obstore takes from the environment and the machine, as the vendors' own tools do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from obstore.exceptions import BaseError
from obstore.store import AzureStore, GCSStore, S3Store

from dray.objects.cloud.errors import Place
from dray.objects.cloud.store import CloudObjects
from dray.objects.port import StoreUnusable
from dray.objects.url import StorageUrl
from dray.runtime import Clock

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig
    from obstore.store import ObjectStore as Obstore


@dataclass(frozen=True, slots=True, kw_only=True)
class _Connection:
    """What all three have: where to connect, whether without TLS, and how long to wait."""

    endpoint: str | None = None
    allow_http: bool = False
    connect_s: float = 5.0
    request_s: float = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Settings(_Connection):
    """`unsigned_payload` saves a SHA-256 of every byte; TLS guards the way, our formats carry checksums."""

    region: str | None = None
    access_key: str | None = field(default=None, repr=False)
    secret_key: str | None = field(default=None, repr=False)
    session_token: str | None = field(default=None, repr=False)
    virtual_hosted: bool = False
    unsigned_payload: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class GcsSettings(_Connection):
    """`service_account_path` names a key file, `service_account_key` is the text of one."""

    service_account_path: str | None = None
    service_account_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AzureSettings(_Connection):
    """An account with its key or a SAS token."""

    account: str | None = None
    account_key: str | None = field(default=None, repr=False)
    sas_token: str | None = field(default=None, repr=False)


def open_s3(url: StorageUrl, settings: S3Settings, clock: Clock) -> CloudObjects:
    config = {
        "endpoint": settings.endpoint,
        "region": settings.region,
        "access_key_id": settings.access_key,
        "secret_access_key": settings.secret_key,
        "session_token": settings.session_token,
        "virtual_hosted_style_request": settings.virtual_hosted,
        "unsigned_payload": settings.unsigned_payload,
    }
    place = _place(url, settings, f"S3 in {settings.region or 'the default region'}")
    return CloudObjects(_opened(S3Store, url, config, settings, place), place, clock)


def open_gcs(url: StorageUrl, settings: GcsSettings, clock: Clock) -> CloudObjects:
    config = {
        "base_url": settings.endpoint,
        "service_account": settings.service_account_path,
        "service_account_key": settings.service_account_key,
    }
    place = _place(url, settings, "Google Cloud Storage")
    return CloudObjects(_opened(GCSStore, url, config, settings, place), place, clock)


def open_azure(url: StorageUrl, settings: AzureSettings, clock: Clock) -> CloudObjects:
    config = {
        "endpoint": settings.endpoint,
        "account_name": settings.account,
        "account_key": settings.account_key,
        "sas_key": settings.sas_token,
    }
    place = _place(url, settings, f"Azure account {settings.account}")
    return CloudObjects(_opened(AzureStore, url, config, settings, place), place, clock)


def _opened(
    kind: "Callable[..., Obstore]",
    url: StorageUrl,
    config: Mapping[str, object],
    settings: _Connection,
    place: Place,
) -> "Obstore":
    """Have obstore make a store; only what was given is told, the rest it looks for itself."""
    try:
        return kind(
            url.bucket,
            prefix=url.path or None,
            config={name: value for name, value in config.items() if value not in (None, False)},
            client_options=_client(settings),
            retry_config=_NO_RETRIES,
        )
    except BaseError as error:
        told = str(error).partition("Debug source")[0].strip()
        raise StoreUnusable(f"{place}: {told}; check the settings") from None


_NO_RETRIES: "Final[RetryConfig]" = {"max_retries": 0, "retry_timeout": timedelta(0)}


def _client(settings: _Connection) -> "ClientConfig":
    return {
        "allow_http": settings.allow_http,
        "connect_timeout": timedelta(seconds=settings.connect_s),
        "timeout": timedelta(seconds=settings.request_s),
    }


def _place(url: StorageUrl, settings: _Connection, usual: str) -> Place:
    """Name the place, and refuse an endpoint that obstore would only trip over later."""
    endpoint = settings.endpoint
    if endpoint is None:
        return Place(str(url), usual)
    if not _is_address(endpoint):
        raise StoreUnusable(
            f"{url}: endpoint {endpoint!r} is no address; write https://host or http://host:port"
        )
    if endpoint.startswith("http:") and not settings.allow_http:
        raise StoreUnusable(f"{url}: endpoint {endpoint!r} is not encrypted; use https or allow plain HTTP")
    return Place(str(url), endpoint)


def _is_address(endpoint: str) -> bool:
    try:
        parts = urlsplit(endpoint)
        complete = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return complete and endpoint.isascii() and endpoint.isprintable() and " " not in endpoint
