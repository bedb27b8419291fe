"""The cloud bucket that the section `storage` describes.

Imports the cloud libraries, so only a process whose URL needs them imports this module (see `object_store`).
"""

from dataclasses import replace
from typing import Final, TypedDict

from dray.objects.cloud import (
    AzureSettings,
    CloudFiles,
    GcsSettings,
    S3Encryption,
    S3Settings,
    open_azure,
    open_azure_files,
    open_gcs,
    open_gcs_files,
    open_s3,
    open_s3_files,
)
from dray.objects.port import ObjectStore
from dray.objects.url import StorageUrl
from dray.runtime import Clock
from dray.settings.secret import Secret
from dray.settings.storage import StorageSettings

_LARGEST_BYTES: Final = 5 * 1024**3
"""`Retrying` ends an attempt, by the size of its data; the client's own timeout must only come later."""


class _Connection(TypedDict):
    """The settings that all clouds share."""

    endpoint: str | None
    allow_http: bool
    authorities: str | None
    connect_s: float
    request_s: float


def open_cloud(url: StorageUrl, storage: StorageSettings, clock: Clock) -> ObjectStore:
    """Open the bucket or container; no request is sent until the first call."""
    if url.scheme == "s3":
        return open_s3(url, _s3(storage), clock)
    if url.scheme == "gs":
        return open_gcs(url, _gcs(storage), clock)
    return open_azure(url, _azure(storage), clock)


def open_table_files(url: StorageUrl, storage: StorageSettings) -> CloudFiles:
    """Open the bucket or container for the metadata files of tables, which are small."""
    seconds = storage.attempt_timeout_ms / 1000
    if url.scheme == "s3":
        return open_s3_files(url, replace(_s3(storage), request_s=seconds))
    if url.scheme == "gs":
        return open_gcs_files(url, replace(_gcs(storage), request_s=seconds))
    return open_azure_files(url, replace(_azure(storage), request_s=seconds))


def _connection(storage: StorageSettings) -> _Connection:
    return {
        "endpoint": storage.endpoint,
        "allow_http": storage.allow_http,
        "authorities": storage.tls_ca_file,
        "connect_s": storage.connect_timeout_ms / 1000,
        "request_s": storage.attempt_timeout_ms / 1000 + _LARGEST_BYTES / storage.bytes_per_s_min,
    }


def _s3(storage: StorageSettings) -> S3Settings:
    return S3Settings(
        **_connection(storage),
        region=storage.region,
        access_key=storage.access_key_id,
        secret_key=_reveal(storage.secret_access_key),
        session_token=_reveal(storage.session_token),
        profile=storage.profile,
        virtual_hosted=storage.virtual_hosted,
        encryption=_encryption(storage),
    )


def _encryption(storage: StorageSettings) -> S3Encryption | None:
    if storage.server_side_encryption is None:
        return None
    return S3Encryption(
        algorithm=storage.server_side_encryption,
        kms_key_id=storage.sse_kms_key_id,
        bucket_key=storage.sse_bucket_key_enabled,
        customer_key=_reveal(storage.sse_customer_key),
    )


def _gcs(storage: StorageSettings) -> GcsSettings:
    return GcsSettings(**_connection(storage), service_account_path=storage.service_account_path)


def _azure(storage: StorageSettings) -> AzureSettings:
    return AzureSettings(
        **_connection(storage),
        account=storage.account,
        account_key=_reveal(storage.account_key),
        sas_token=_reveal(storage.sas_token),
    )


def _reveal(secret: Secret | None) -> str | None:
    return None if secret is None else secret.reveal()
