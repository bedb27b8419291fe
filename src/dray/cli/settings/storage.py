"""The section `storage`: one set of settings for every kind of object store.

Each adapter has settings of its own; the wiring takes from here what the URL's scheme needs.
"""

from typing import Annotated, Final

from msgspec import Meta, Struct

from dray.cli.settings.secret import Secret
from dray.objects.url import parse_storage_url

DATA_DIR: Final = "{data_dir}"
"""In a URL, stands for `broker.data_dir`."""

# Refuses credentials inside a URL before anything quotes it; `parse_storage_url` knows the rest.
_URL: Final = r"^(memory:|file:.+|(s3|gs|az)://[^/@?#]+(/[^?#]*)?)$"
_URL_ALLOWED: Final = "file:PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or memory:"


class StorageSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The object store. What is left out, the cloud's own environment and machine identity supply."""

    url: Annotated[
        str,
        Meta(
            description="Where objects are kept; all processes of a cluster use the same.",
            pattern=_URL,
            extra={"flag": "--storage", "allowed": _URL_ALLOWED},
        ),
    ] = f"file:{DATA_DIR}/objects"
    endpoint: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^/@?#]+/?$")] | None,
        Meta(
            description="The address of a store that is not the cloud's own.",
            extra={"allowed": "http://HOST:PORT or https://HOST:PORT"},
        ),
    ] = None
    allow_http: Annotated[bool, Meta(description="Whether the endpoint may be plain http.")] = False
    region: Annotated[str | None, Meta(description="S3: the bucket's region.")] = None
    access_key_id: Annotated[str | None, Meta(description="S3: the public half of a key pair.")] = None
    secret_access_key: Annotated[Secret | None, Meta(description="S3: the secret half of a key pair.")] = None
    session_token: Annotated[Secret | None, Meta(description="S3: the token of a temporary key pair.")] = None
    virtual_hosted: Annotated[
        bool, Meta(description="S3: whether the bucket is part of the host's name.")
    ] = False
    service_account_path: Annotated[
        str | None,
        Meta(description="Google: the key file of a service account.", extra={"allowed": "a path"}),
    ] = None
    account: Annotated[str | None, Meta(description="Azure: the storage account.")] = None
    account_key: Annotated[Secret | None, Meta(description="Azure: the account's key.")] = None
    sas_token: Annotated[Secret | None, Meta(description="Azure: a shared access signature.")] = None
    connect_timeout_ms: Annotated[int, Meta(description="How long connecting may take.", ge=1)] = 5_000
    attempt_timeout_ms: Annotated[
        int, Meta(description="How long one attempt at a request may take.", ge=1)
    ] = 20_000
    attempts_max: Annotated[
        int, Meta(description="How often a request is attempted before its caller is told.", ge=1)
    ] = 10
    retry_budget_ms: Annotated[
        int, Meta(description="How long a request is attempted before its caller is told.", ge=0)
    ] = 60_000

    def __post_init__(self) -> None:
        parse_storage_url(self.url)
        if (self.access_key_id is None) != (self.secret_access_key is None):
            raise ValueError("access_key_id and secret_access_key go together; give both or none")
        if self.endpoint is not None and self.endpoint.startswith("http://") and not self.allow_http:
            raise ValueError(
                "the endpoint is http:// but allow_http is false; use https:// or set it to true"
            )
