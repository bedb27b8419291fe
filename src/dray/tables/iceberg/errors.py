"""Translation of errors of PyIceberg, SQLAlchemy, requests and pyarrow into the port's errors.

`reading` and `committing` differ because the same failure means two things: while reading or preparing,
nothing has been changed; once a commit was sent, only a definite rejection means that, and any other error
leaves the outcome unknown. Errors that are not listed here are bugs and propagate.

`reading_files` is for a table's own files. Corrupt bytes make PyIceberg raise nearly anything, so there
nearly anything means that the table is damaged. In a catalog's response, only errors of the parsers mean that
something else responded.
"""

import json
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from urllib.parse import SplitResult, urlsplit

import pydantic
import requests
from pyiceberg import exceptions as theirs
from sqlalchemy.exc import SQLAlchemyError

from dray.tables.iceberg.durable_io import last_opened
from dray.tables.port import (
    AccessDenied,
    Conflict,
    FilesMissing,
    OutcomeUnknown,
    RequestRejected,
    TableDamaged,
    TableMissing,
    TablesError,
    Unavailable,
)

REMEDY: Final = "restore it from a backup, or drop the table: a topic's table is rebuilt from the log's files"
_MISSING: Final = (theirs.NoSuchTableError, theirs.NoSuchNamespaceError)
_NOT_ALLOWED: Final = (
    theirs.UnauthorizedError,
    theirs.ForbiddenError,
    theirs.AuthorizationExpiredError,
    theirs.OAuthError,
    theirs.SignError,
    PermissionError,
)
_UNAVAILABLE: Final = (
    theirs.ServiceUnavailableError,
    theirs.TooManyRequestsError,
    theirs.ServerError,
    theirs.CommitStateUnknownException,
    requests.RequestException,
    SQLAlchemyError,
    OSError,
)
_REJECTED: Final = (theirs.BadRequestError, theirs.RESTError, NotImplementedError)

_BAD_RESPONSE: Final = (
    pydantic.ValidationError,
    theirs.ValidationError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)
"""The response does not come from a catalog, or from a faulty one."""
_BAD_BYTES: Final = (
    theirs.ValidationError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    EOFError,
    MemoryError,
    RecursionError,
    SystemError,
    struct.error,
    zlib.error,
)
"""Errors that truncated and corrupt files have caused."""
_UNREACHED: Final = (requests.ConnectionError, requests.Timeout, SQLAlchemyError, ConnectionError)

_SYSTEM_ERROR: Final = re.compile(r"\[Errno -?\d+\] ([^()\[\]'\"]+)")
_POOL: Final = re.compile(r"^HTTPS?Connection(?:Pool)?\([^)]*\): ")

_KNOWN: Final = (
    theirs.CommitFailedException,
    theirs.ValidationException,
    *_MISSING,
    *_NOT_ALLOWED,
    *_UNAVAILABLE,
    *_REJECTED,
)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Translate errors of code that changes nothing."""
    try:
        yield
    except (*_KNOWN, *_BAD_RESPONSE) as error:
        raise _translated(error, what, Unavailable) from error


@contextmanager
def reading_files(what: str) -> Iterator[None]:
    """Translate errors of code that reads files of a table and does nothing else."""
    last_opened.set(None)
    try:
        yield
    except FileNotFoundError as error:
        if last_opened.get() is None:
            raise _translated(error, what, Unavailable) from error
        raise TableDamaged(f"{what}: a file is missing: {_first_line(error)}; {REMEDY}") from error
    except _KNOWN as error:
        raise _translated(error, what, Unavailable) from error
    except _BAD_BYTES as error:
        path = last_opened.get()
        near = f" (the last file opened was {path})" if path else ""
        raise TableDamaged(f"{what} cannot be read{near}: {_first_line(error)}; {REMEDY}") from error


def is_unreached(error: TablesError) -> bool:
    """Whether the catalog itself could not be reached, so that other tables cannot be loaded either."""
    return isinstance(error.__cause__, _UNREACHED)


@contextmanager
def committing(what: str) -> Iterator[None]:
    """Translate errors of code whose changes may have taken effect nevertheless."""
    try:
        yield
    except (*_KNOWN, *_BAD_RESPONSE) as error:
        raise _translated(error, what, OutcomeUnknown) from error


def _translated(error: Exception, what: str, unavailable: type[TablesError]) -> TablesError:
    message = f"{what}: {_first_line(error)}"
    match error:
        case theirs.CommitFailedException():
            return Conflict(f"{message}; another commit came first")
        case theirs.ValidationException():
            return FilesMissing(message)
        case theirs.NoSuchTableError() | theirs.NoSuchNamespaceError():
            return TableMissing(
                f"{what}: the catalog has no such table. If it was dropped or renamed, Dray rebuilds it "
                "from the files of the log, and leaves a renamed one as it is"
            )
    if isinstance(error, _NOT_ALLOWED):
        return AccessDenied(f"{message}; check the credentials for the catalog and for the warehouse")
    if isinstance(error, _BAD_RESPONSE):
        message += "; the response is not that of an Iceberg catalog: check its address"
    if isinstance(error, (*_UNAVAILABLE, *_BAD_RESPONSE)):
        return unavailable(message)
    return RequestRejected(f"{message}; the catalog or the store rejected the request")


def _unreached(error: requests.RequestException, url: SplitResult) -> str:
    """Return which server did not respond and why, from urllib3's message."""
    cause = error.args[0] if error.args else error
    text = str(getattr(cause, "reason", cause))
    system = _SYSTEM_ERROR.search(text)
    reason = system[1] if system else _POOL.sub("", text)
    return f"cannot reach {url.scheme}://{url.netloc}: {reason}"


def _first_line(error: Exception) -> str:
    """Return the message without the SQL, links and traces that some libraries add."""
    if isinstance(error, requests.ConnectionError | requests.Timeout) and error.request is not None:
        return _unreached(error, urlsplit(str(error.request.url)))
    lines = [line.strip() for line in str(error).splitlines()]
    if isinstance(error, pydantic.ValidationError | theirs.ValidationError):
        lines = [": ".join(lines[:3])[:200]]  # the first says only how many errors there are
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
