"""The field types of the Kafka protocol, as annotations that a type checker and `schema.py` both read.

`throttle_time_ms: Annotated[Int32, Versions("1+", ignorable=True)] = 0` is an int to the type checker, a
4-byte integer on the wire, and there from version 1 on. Without `Versions` a field is in all versions.

Records are the one type with two faces. A request's records are a view into the frame it came in. A
response's are a list of buffers, because a broker answers with parts of several objects; read back,
they are one view in a list. Buffers are counted by `len`, so views must be of bytes.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, TypeAlias

from typing_extensions import Buffer


class Kind(Enum):
    """How a value lies on the wire; a fixed-width one has the letter that `struct` knows it by."""

    BOOL = "?"
    INT8 = "b"
    INT16 = "h"
    INT32 = "i"
    INT64 = "q"
    UINT16 = "H"
    FLOAT64 = "d"
    UUID = "16s"
    STRING = "string"
    BYTES = "bytes"
    RECORDS_VIEW = "records view"
    RECORDS_PARTS = "records parts"
    STRUCT = "struct"


FIXED_BYTES: Final = {
    Kind.BOOL: 1,
    Kind.INT8: 1,
    Kind.INT16: 2,
    Kind.INT32: 4,
    Kind.INT64: 8,
    Kind.UINT16: 2,
    Kind.FLOAT64: 8,
    Kind.UUID: 16,
}

ZERO_UUID: Final = bytes(16)

Bool: TypeAlias = Annotated[bool, Kind.BOOL]
Int8: TypeAlias = Annotated[int, Kind.INT8]
Int16: TypeAlias = Annotated[int, Kind.INT16]
Int32: TypeAlias = Annotated[int, Kind.INT32]
Int64: TypeAlias = Annotated[int, Kind.INT64]
UInt16: TypeAlias = Annotated[int, Kind.UINT16]
Float64: TypeAlias = Annotated[float, Kind.FLOAT64]
Uuid: TypeAlias = Annotated[bytes, Kind.UUID]
String: TypeAlias = Annotated[str, Kind.STRING]
Bytes: TypeAlias = Annotated[bytes, Kind.BYTES]
RecordsView: TypeAlias = Annotated[memoryview, Kind.RECORDS_VIEW]
RecordsParts: TypeAlias = Annotated[list[Buffer], Kind.RECORDS_PARTS]


@dataclass(frozen=True, slots=True)
class Versions:
    """Where a field is: in which versions, since which nullable, under which tag.

    `span` is written as in Kafka: "3+", "2-7", "4". `ignorable` says that a value set in a version without
    the field is silently left out; otherwise that is an error.
    """

    span: str = "0+"
    nullable: str = "0+"
    tag: int | None = None
    ignorable: bool = False


def covers(span: str, version: int) -> bool:
    """Say whether `version` lies in a span such as "3+", "2-7" or "4"."""
    first, _, last = span.removesuffix("+").partition("-")
    if span.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last or first)
