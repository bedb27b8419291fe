"""Reading values of the metadata store, so that a damaged one is told with its key."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


class CorruptValue(Exception):
    """A value in the metadata store is not what Dray wrote; the message names the key."""


def decoded(decoder: "msgspec.msgpack.Decoder[T]", key: str, value: bytes, what: str) -> T:
    """Decode a value; `what` says in the error what it should have been."""
    try:
        return decoder.decode(value)
    except msgspec.DecodeError as error:
        raise CorruptValue(f"{key} does not hold {what}: {error}") from error


def of_kind(kind: type[T], found: object, key: str, what: str) -> T:
    """See to it that a value is of the kind that its key says."""
    if not isinstance(found, kind):
        raise CorruptValue(f"{key} does not hold {what} but a {type(found).__name__}")
    return found
