"""Schema of compacted files, version 1, with Iceberg field ids. It never changes.

Top-level fields are numbered first and nested ones after all of them, as Iceberg's catalogs number the
columns of a new table; they would silently change any other order. Header keys need not be unique and keep
their order, hence a list and not a map. `producer_*`, `base_sequence` and `record_crc` are reserved and hold
nulls.

The low 16 bits of `attributes` are those of the record's batch; bit 3 is log-append time. Bit 16 marks a
record whose header keys were not UTF-8 and are stored as Latin-1. A record whose timestamp microseconds
cannot hold, outside the years ±292277, is in no file: its batch stays in the WAL.
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
