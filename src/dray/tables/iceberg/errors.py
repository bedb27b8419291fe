"""From what PyIceberg, SQLAlchemy, requests and pyarrow raise to the port's errors.

Two places, because the same failure means two things: while reading or preparing, nothing has happened yet;
once a commit is on its way, only a clear refusal says so, and anything else leaves the outcome unknown.
Whatever is not listed here is a fault in the code and passes through.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import requests
from pyiceberg import exceptions as theirs
from sqlalchemy.exc import SQLAlchemyError

from dray.tables.port import (
    Conflict,
    FilesGone,
    NotAllowed,
    OutcomeUnknown,
    Refused,
    TableMissing,
    TablesError,
    Unavailable,
)

_MISSING: Final = (theirs.NoSuchTableError, theirs.NoSuchNamespaceError)
_NOT_ALLOWED: Final = (
    theirs.UnauthorizedError,
    theirs.ForbiddenError,
    theirs.AuthorizationExpiredError,
    theirs.OAuthError,
    theirs.SignError,
    PermissionError,
)
_AWAY: Final = (
    theirs.ServiceUnavailableError,
    theirs.TooManyRequestsError,
    theirs.ServerError,
    theirs.CommitStateUnknownException,
    requests.RequestException,
    SQLAlchemyError,
    OSError,
)
_DENIED: Final = (
    "ACCESS_DENIED",
    "INVALID_ACCESS_KEY_ID",
    "INVALID_CLIENT_TOKEN_ID",
    "SIGNATURE_DOES_NOT_MATCH",
)
"""How pyarrow says so: all that S3 answers is an OSError."""
_REFUSED: Final = (theirs.BadRequestError, theirs.RESTError, NotImplementedError)

_KNOWN: Final = (
    theirs.CommitFailedException,
    theirs.ValidationException,
    *_MISSING,
    *_NOT_ALLOWED,
    *_AWAY,
    *_REFUSED,
)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Whatever goes wrong in here has changed nothing."""
    try:
        yield
    except _KNOWN as error:
        raise _translated(error, what, Unavailable) from error


@contextmanager
def committing(what: str) -> Iterator[None]:
    """What goes wrong in here may have happened all the same."""
    try:
        yield
    except _KNOWN as error:
        raise _translated(error, what, OutcomeUnknown) from error


def _translated(error: Exception, what: str, away: type[TablesError]) -> TablesError:
    told = f"{what}: {_first_line(error)}"
    match error:
        case theirs.CommitFailedException():
            return Conflict(f"{told}; somebody else committed first")
        case theirs.ValidationException():
            return FilesGone(told)
        case theirs.NoSuchTableError() | theirs.NoSuchNamespaceError():
            return TableMissing(
                f"{what}: the catalogue has no such table. If it was renamed, give it its name again; "
                "if it was dropped, Dray makes it again from the files of the log"
            )
    if isinstance(error, _NOT_ALLOWED) or _is_denied(error):
        return NotAllowed(f"{told}; check the credentials for the catalogue and for the warehouse")
    if isinstance(error, _AWAY) and "NO_SUCH_BUCKET" not in told:
        return away(told)
    return Refused(f"{told}; the catalogue or the store does not take this as it is")


def _is_denied(error: Exception) -> bool:
    return isinstance(error, OSError) and any(f"AWS Error {word}" in str(error) for word in _DENIED)


def _first_line(error: Exception) -> str:
    """The message without SQL, links and traces that some libraries add."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
