"""The columns of a compacted file, version 1, with their Iceberg field ids. Kept for ever.

Top-level fields are numbered first and nested ones after all of them, because that is how Iceberg's
catalogues number the columns of a new table; any other order would be silently changed. Header keys need
not be unique and keep their order, hence a list and no map. `producer_*`, `base_sequence` and `record_crc`
are there for later and hold nulls.

`attributes` are those of the record's batch in their low 16 bits: bit 3 tells log-append time. Bit 16 tells
that the record's header keys were not UTF-8 and stand here as Latin-1. Timestamps that microseconds cannot
tell stand as the nearest that they can, in the years ±292277.
"""

from typing import Final

try:
    import pyarrow as pa
except ImportError as error:
    raise ImportError(
        f"dray.formats.parquet_v1 needs pyarrow ({error}): pip install 'dray[tables]'"
    ) from error


def _field(number: int, name: str, kind: pa.DataType, *, required: bool) -> pa.Field:
    return pa.field(name, kind, nullable=not required, metadata={"PARQUET:field_id": str(number)})


_HEADER: Final = pa.struct(
    [
        _field(13, "key", pa.string(), required=True),
        _field(14, "value", pa.binary(), required=False),
    ]
)
SCHEMA: Final = pa.schema(
    [
        _field(1, "partition", pa.int32(), required=True),
        _field(2, "offset", pa.int64(), required=True),
        _field(3, "timestamp", pa.timestamp("us", "UTC"), required=True),
        _field(4, "key", pa.binary(), required=False),
        _field(5, "value", pa.binary(), required=False),
        _field(6, "headers", pa.list_(_field(12, "element", _HEADER, required=True)), required=True),
        _field(7, "producer_id", pa.int64(), required=False),
        _field(8, "producer_epoch", pa.int32(), required=False),
        _field(9, "base_sequence", pa.int32(), required=False),
        _field(10, "attributes", pa.int32(), required=True),
        _field(11, "record_crc", pa.int32(), required=False),
    ]
)
