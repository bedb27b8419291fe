"""Decoding of values of the metadata store, with errors that name the key of a corrupt one."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


class CorruptValue(Exception):
    """A value in the metadata store is not what Dray wrote; the message names the key."""


def decoded(decoder: "msgspec.msgpack.Decoder[T]", key: str, value: bytes, what: str) -> T:
    """Decode a value; raises `CorruptValue`, which calls it `what`."""
    try:
        return decoder.decode(value)
    except msgspec.DecodeError as error:
        remedy = "restore the value, or delete the key to drop what it describes"
        raise CorruptValue(f"cannot decode {key} as {what}: {error}; {remedy}") from error


def of_kind(kind: type[T], found: object, key: str, what: str) -> T:
    """Check that a value is of the kind that its key implies."""
    if not isinstance(found, kind):
        raise CorruptValue(f"expected {what} at {key}, found {type(found).__name__}")
    return found
