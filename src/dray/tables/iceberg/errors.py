"""From what PyIceberg, SQLAlchemy, requests and pyarrow raise to the port's errors.

Two places, because the same failure means two things: while reading or preparing, nothing has happened yet;
once a commit is on its way, only a clear refusal says so, and anything else leaves the outcome unknown.
Whatever is not listed here is a fault in the code and passes through.

A third is where a table's own files are read. Bytes that are not what they should be make PyIceberg raise
nearly anything, so there nearly anything means that the table is damaged. Where answers of a catalogue are
read, only what its parsers raise means that it answered something else.
"""

import json
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pydantic
import requests
from pyiceberg import exceptions as theirs
from sqlalchemy.exc import SQLAlchemyError

from dray.tables.iceberg.durable_io import last_opened
from dray.tables.port import (
    Conflict,
    FilesGone,
    NotAllowed,
    OutcomeUnknown,
    Refused,
    TableDamaged,
    TableMissing,
    TablesError,
    Unavailable,
)

REMEDY: Final = "restore it from a copy, or drop the table: a topic's is made again from the files of the log"
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

_NO_ANSWER: Final = (
    pydantic.ValidationError,
    theirs.ValidationError,
    json.JSONDecodeError,
    UnicodeDecodeError,
)
"""Something answered that is no catalogue, or no well one."""
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
"""What came of files cut short or with other bytes in them."""
_UNREACHED: Final = (requests.ConnectionError, requests.Timeout, SQLAlchemyError)

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
    except (*_KNOWN, *_NO_ANSWER) as error:
        raise _translated(error, what, Unavailable) from error


@contextmanager
def reading_files(what: str) -> Iterator[None]:
    """The files of a table are read in here, and nothing else; it has changed nothing."""
    last_opened.set(None)
    try:
        yield
    except FileNotFoundError as error:
        if last_opened.get() is None:
            raise _translated(error, what, Unavailable) from error
        raise TableDamaged(f"{what}: a file of it is missing: {_first_line(error)}; {REMEDY}") from error
    except _KNOWN as error:
        raise _translated(error, what, Unavailable) from error
    except _BAD_BYTES as error:
        path = last_opened.get()
        near = f" (the last file opened was {path})" if path else ""
        raise TableDamaged(f"{what} cannot be read{near}: {_first_line(error)}; {REMEDY}") from error


def is_unreached(error: TablesError) -> bool:
    """Whether the catalogue itself could not be reached, so that no other table can be asked for either."""
    return isinstance(error.__cause__, _UNREACHED)


@contextmanager
def committing(what: str) -> Iterator[None]:
    """What goes wrong in here may have happened all the same."""
    try:
        yield
    except (*_KNOWN, *_NO_ANSWER) as error:
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
                f"{what}: the catalogue has no such table. If it was dropped or renamed, Dray makes it again "
                "from the files of the log, and leaves a renamed one as it is"
            )
    if isinstance(error, _NOT_ALLOWED) or _is_denied(error):
        return NotAllowed(f"{told}; check the credentials for the catalogue and for the warehouse")
    if isinstance(error, _NO_ANSWER):
        told += "; what answered is no Iceberg catalogue, or a faulty one: check its address"
    if isinstance(error, (*_AWAY, *_NO_ANSWER)) and "NO_SUCH_BUCKET" not in told:
        return away(told)
    return Refused(f"{told}; the catalogue or the store does not take this as it is")


def _is_denied(error: Exception) -> bool:
    return isinstance(error, OSError) and any(f"AWS Error {word}" in str(error) for word in _DENIED)


def _first_line(error: Exception) -> str:
    """The message without SQL, links and traces that some libraries add."""
    lines = [line.strip() for line in str(error).splitlines()]
    if isinstance(error, pydantic.ValidationError | theirs.ValidationError):
        lines = [": ".join(lines[:3])[:200]]  # the first says only how many errors there are
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
