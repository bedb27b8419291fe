"""Conversion between records and rows of Spark's Kafka source and sink.

The source returns null for a record without headers, where other clients return an empty list. Times are in
milliseconds, so that the time zone of this machine has no effect.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from warnings import catch_warnings, simplefilter

from tests.clients.protocol import Record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

_SHOWN: Final = ("*", "unix_millis(timestamp) AS written_ms")
_WRITTEN: Final = (
    "topic string, partition int, key binary, value binary, headers array<struct<key string, value binary>>"
)

Logs = Mapping[str, Sequence[Record]]
"""The records of each topic, by partition and offset."""


def logs(frame: "DataFrame") -> Logs:
    """Return the records in a frame of the source with `includeHeaders`."""
    found: dict[str, list[Record]] = defaultdict(list)
    for row in _collected(frame.selectExpr(*_SHOWN)):
        assert row["timestampType"] == 0, "the time is the producer's"
        found[row["topic"]].append(_record(row))
    return {topic: in_order(records) for topic, records in found.items()}


def in_order(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.partition, record.offset))


def rows(spark: "SparkSession", topic: str, records: Iterable[Record]) -> "DataFrame":
    """Return the frame from which the sink writes these records; it cannot set timestamps."""
    return spark.createDataFrame(
        [(topic, record.partition, record.key, record.value, list(record.headers)) for record in records],
        _WRITTEN,
    )


def _collected(frame: "DataFrame") -> "list[Row]":
    with catch_warnings():
        simplefilter("ignore", ResourceWarning)  # pyspark leaves closing its socket to the interpreter
        return frame.collect()


def _record(row: "Row") -> Record:
    return Record(
        key=_bytes(row["key"]),
        value=_bytes(row["value"]),
        headers=tuple((header["key"], _bytes(header["value"])) for header in row["headers"] or ()),
        timestamp=row["written_ms"],
        partition=row["partition"],
        offset=row["offset"],
    )


def _bytes(value: bytes | bytearray | None) -> bytes | None:
    """Convert a value; Spark before 4.1 returned bytearrays."""
    return None if value is None else bytes(value)
