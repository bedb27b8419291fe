"""The catalog in AWS Glue. Needs boto3.

PyIceberg handles the errors of Glue that concern a table; the others are translated into those that it raises
for REST catalogs. boto3's own retries are off: after one of a commit that took effect, Glue reports a
conflict, and retries are up to the caller anyway.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError
from pyiceberg import exceptions as theirs
from pyiceberg.catalog.glue import GlueCatalog

from dray.tables.iceberg.settings import AwsAccess, GlueCatalogSettings

_HANDLED: Final = ("EntityNotFoundException", "AlreadyExistsException", "ConcurrentModificationException")
_NOT_ALLOWED: Final = (
    "AccessDeniedException",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationTokenException",
    "UnrecognizedClientException",
)
_REJECTED: Final = (
    "FederationSourceException",
    "GlueEncryptionException",
    "InvalidInputException",
    "ValidationException",
)


def open_glue(settings: GlueCatalogSettings, io: dict[str, str]) -> GlueCatalog:
    """Open the catalog. No request is sent; raises `ForbiddenError` if the profile cannot be used."""
    try:
        client = session_of(settings.access).client("glue", config=_config(settings.request_s))
    except BotoCoreError as error:
        raise theirs.ForbiddenError(str(error)) from error
    if settings.catalog_id is not None:
        client.meta.events.register("provide-client-params.glue", _add_id(settings.catalog_id))
    return GlueCatalog(settings.name, _TranslatingClient(client), **io)


def session_of(access: AwsAccess) -> boto3.Session:
    return boto3.Session(
        aws_access_key_id=access.access_key,
        aws_secret_access_key=access.secret_key,
        aws_session_token=access.session_token,
        profile_name=access.profile,
        region_name=access.region,
    )


def _config(request_s: float) -> Config:
    return Config(connect_timeout=request_s, read_timeout=request_s, retries={"total_max_attempts": 1})


def _add_id(catalog_id: str) -> Callable[..., None]:
    def add(params: dict[str, Any], **_: object) -> None:
        params.setdefault("CatalogId", catalog_id)

    return add


class _TranslatingClient:
    """boto3's client of Glue, with errors of PyIceberg."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401 - boto3 makes its type at run time
        self._client = client

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - as above
        found = getattr(self._client, name)
        return found if name in ("exceptions", "meta") else _translated(found)


def _translated(call: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(call)
    def called(**arguments: object) -> Any:  # noqa: ANN401 - the response is a dictionary
        try:
            return call(**arguments)
        except (NoCredentialsError, PartialCredentialsError) as error:
            raise theirs.ForbiddenError(str(error)) from error
        except BotoCoreError as error:
            raise ConnectionError(f"cannot reach AWS Glue: {error}") from error
        except ClientError as error:
            if _code(error) in _HANDLED:
                raise
            raise _error_of(_code(error))(str(error)) from error

    return called


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _error_of(code: str) -> type[Exception]:
    if code in _NOT_ALLOWED:
        return theirs.ForbiddenError
    return theirs.BadRequestError if code in _REJECTED else theirs.ServiceUnavailableError
