"""Reading what this room has stored, and saying so when it is not what was stored."""

from typing import TypeVar

import msgspec

from dray.index import CorruptValue
from dray.meta.port import Entry

T = TypeVar("T")


def decoded(decoder: "msgspec.msgpack.Decoder[T]", entry: Entry, what: str) -> T:
    try:
        return decoder.decode(entry.value)
    except msgspec.DecodeError as error:
        raise CorruptValue(
            f"{entry.key} does not hold {what}: {error}; restore the value, or delete the key"
        ) from error
