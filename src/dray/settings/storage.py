"""The section `storage`: settings of all kinds of object stores.

Each adapter has its own settings; `dray.server` fills them from the ones here that the URL's scheme needs.
"""

from base64 import b64decode
from typing import Annotated, Final, Literal
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from dray.objects.url import parse_storage_url
from dray.settings.secret import Secret

DATA_DIR: Final = "{data_dir}"
"""In a URL, stands for `broker.data_dir`."""

# Refuses credentials inside a URL before anything quotes it; `parse_storage_url` knows the rest.
_URL: Final = r"^(memory:|file:.+|(s3|gs|az)://[^/@?#]+(/[^?#]*)?)$"
_KMS: Final = ("aws:kms", "aws:kms:dsse")
_KEY_BYTES: Final = 32
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
    tls_ca_file: Annotated[
        str | None,
        Meta(
            description="File with the certificates of the authorities that sign the endpoint's certificate, "
            "in addition to the system's.",
            extra={"allowed": "the path of a PEM file"},
        ),
    ] = None
    region: Annotated[str | None, Meta(description="S3: region of the bucket.")] = None
    access_key_id: Annotated[str | None, Meta(description="S3: access key id.")] = None
    secret_access_key: Annotated[Secret | None, Meta(description="S3: secret access key.")] = None
    session_token: Annotated[
        Secret | None, Meta(description="S3: session token of temporary credentials.")
    ] = None
    profile: Annotated[
        str | None,
        Meta(
            description="S3: profile in AWS's configuration files, in place of keys; needs boto3, which "
            "`dray[aws]` installs."
        ),
    ] = None
    virtual_hosted: Annotated[
        bool, Meta(description="S3: use virtual-hosted-style requests, with the bucket in the host name.")
    ] = False
    server_side_encryption: Annotated[
        Literal["AES256", "aws:kms", "aws:kms:dsse", "sse-c"] | None,
        Meta(
            description="S3: how the store encrypts objects: with a key of S3, of KMS, two of KMS, or with "
            "`sse_customer_key`. Unset, the bucket's default applies.",
            extra={"allowed": "AES256, aws:kms, aws:kms:dsse or sse-c"},
        ),
    ] = None
    sse_kms_key_id: Annotated[
        str | None, Meta(description="S3: id or ARN of the KMS key; unset, the account's default key.")
    ] = None
    sse_bucket_key_enabled: Annotated[
        bool, Meta(description="S3: use a bucket key, which makes fewer requests to KMS.")
    ] = False
    sse_customer_key: Annotated[
        Secret | None,
        Meta(
            description="S3: key for `sse-c`, 256 bits in base64. It is sent with every read and write, and "
            "other engines need it too to read the tables."
        ),
    ] = None
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
        if self.profile is not None and self.access_key_id is not None:
            raise ValueError("profile and access_key_id are both set; set one of them")
        self._check_encryption()
        if self.url.startswith("az:") and self.account is None:
            raise ValueError(f"{self.url} needs account, the name of its storage account; set it")
        path = urlsplit(self.endpoint or "").path.strip("/")
        if path and not self.url.startswith("az:"):
            raise ValueError("the endpoint has a path, which only Azure's may have; remove it")
        if self.endpoint is not None and self.endpoint.startswith("http://") and not self.allow_http:
            raise ValueError(
                "the endpoint is http:// but allow_http is false; use https:// or set it to true"
            )

    def _check_encryption(self) -> None:
        algorithm, key = self.server_side_encryption, self.sse_customer_key
        if (self.sse_kms_key_id or self.sse_bucket_key_enabled) and algorithm not in _KMS:
            raise ValueError(
                "sse_kms_key_id and sse_bucket_key_enabled need server_side_encryption "
                "aws:kms or aws:kms:dsse; set it, or unset them"
            )
        if (algorithm == "sse-c") != (key is not None):
            raise ValueError(
                "server_side_encryption: sse-c and sse_customer_key go together; set both or neither"
            )
        if key is not None and not _is_key(key.reveal()):
            raise ValueError(
                "sse_customer_key is not 256 bits in base64; make one with: openssl rand -base64 32"
            )


def _is_key(text: str) -> bool:
    try:
        return len(b64decode(text, validate=True)) == _KEY_BYTES
    except ValueError:
        return False
