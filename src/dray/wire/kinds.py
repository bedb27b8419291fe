"""Field types of the Kafka protocol, as annotations for the type checker and for `schema.py`.

`throttle_time_ms: Annotated[Int32, Versions("1+", ignorable=True)] = 0` is an int to the type checker, a
4-byte integer on the wire, and exists from version 1 on. A field without `Versions` is in all versions.

Records have two types. Those of a request are a view into its frame. Those of a response are a list of
buffers, because a broker responds with parts of several objects; decoded, they are one view in a list. Sizes
are computed with `len`, so views must be of bytes.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Final, TypeAlias

from typing_extensions import Buffer


class Kind(Enum):
    """The wire format of a value; a fixed-width one has its `struct` format character."""

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
    """The versions of a field, those in which it is nullable, and its tag.

    `span` is written as in Kafka: "3+", "2-7", "4". An `ignorable` field is silently omitted in versions that
    lack it; otherwise a value there is an error.
    """

    span: str = "0+"
    nullable: str = "0+"
    tag: int | None = None
    ignorable: bool = False


def covers(span: str, version: int) -> bool:
    """Return whether `version` is in a span such as "3+", "2-7" or "4"."""
    first, _, last = span.removesuffix("+").partition("-")
    if span.endswith("+"):
        return version >= int(first)
    return int(first) <= version <= int(last or first)
