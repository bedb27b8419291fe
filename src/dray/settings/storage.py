"""The section `storage`: settings of all kinds of object stores.

Each adapter has its own settings; `dray.server` fills them from the ones here that the URL's scheme needs.
"""

from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from dray.objects.url import parse_storage_url
from dray.settings.secret import Secret

DATA_DIR: Final = "{data_dir}"
"""In a URL, stands for `broker.data_dir`."""

# Refuses credentials inside a URL before anything quotes it; `parse_storage_url` knows the rest.
_URL: Final = r"^(memory:|file:.+|(s3|gs|az)://[^/@?#]+(/[^?#]*)?)$"
_URL_ALLOWED: Final = "file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or memory:"


class StorageSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The object store. Unset credentials come from the cloud's own variables and machine identity."""

    url: Annotated[
        str,
        Meta(
            description="URL of the object store; all processes of a cluster use the same one.",
            pattern=_URL,
            extra={"flag": "--storage", "allowed": _URL_ALLOWED},
        ),
    ] = f"file:{DATA_DIR}/objects"
    endpoint: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/@?#]+(/[^@?#]*)?$")] | None,
        Meta(
            description="Endpoint override, for S3-compatible stores and emulators.",
            extra={"allowed": "http://HOST:PORT or https://HOST:PORT; for Azure with /ACCOUNT"},
        ),
    ] = None
    allow_http: Annotated[bool, Meta(description="Whether the endpoint may use plain HTTP.")] = False
    region: Annotated[str | None, Meta(description="S3: region of the bucket.")] = None
    access_key_id: Annotated[str | None, Meta(description="S3: access key id.")] = None
    secret_access_key: Annotated[Secret | None, Meta(description="S3: secret access key.")] = None
    session_token: Annotated[
        Secret | None, Meta(description="S3: session token of temporary credentials.")
    ] = None
    virtual_hosted: Annotated[
        bool, Meta(description="S3: use virtual-hosted-style requests, with the bucket in the host name.")
    ] = False
    service_account_path: Annotated[
        str | None,
        Meta(description="Google: path of a service account key file.", extra={"allowed": "a path"}),
    ] = None
    account: Annotated[str | None, Meta(description="Azure: name of the storage account.")] = None
    account_key: Annotated[Secret | None, Meta(description="Azure: key of the storage account.")] = None
    sas_token: Annotated[Secret | None, Meta(description="Azure: shared access signature.")] = None
    connect_timeout_ms: Annotated[int, Meta(description="Connection timeout.", ge=1)] = 5_000
    attempt_timeout_ms: Annotated[
        int, Meta(description="Timeout of one attempt, to which `bytes_per_s_min` adds.", ge=1)
    ] = 20_000
    bytes_per_s_min: Annotated[
        int,
        Meta(
            description="Slowest transfer that is waited for: the timeout of an attempt grows by the size of "
            "its data divided by this.",
            ge=1024,
        ),
    ] = 1024 * 1024
    attempts_max: Annotated[int, Meta(description="Maximum attempts per request.", ge=1)] = 10
    retry_budget_ms: Annotated[int, Meta(description="Total time budget of a request's retries.", ge=0)] = (
        60_000
    )

    def __post_init__(self) -> None:
        parse_storage_url(self.url)
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("access_key_id and secret_access_key go together; set both or neither")
        if self.url.startswith("az:") and self.account is None:
            raise ValueError(f"{self.url} needs account, the name of its storage account; set it")
        path = urlsplit(self.endpoint or "").path.strip("/")
        if path and not self.url.startswith("az:"):
            raise ValueError("the endpoint has a path, which only Azure's may have; remove it")
        if self.endpoint is not None and self.endpoint.startswith("http://") and not self.allow_http:
            raise ValueError(
                "the endpoint is http:// but allow_http is false; use https:// or set it to true"
            )
