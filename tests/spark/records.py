"""Records of the tests as rows of Spark's Kafka source and sink, and rows as records.

The source shows a record without headers as null where others show an empty list. Times are told in
milliseconds, so that no time zone of this machine comes into it.
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
"""What is in each topic, by partition and offset."""


def logs(frame: "DataFrame") -> Logs:
    """What a frame of the source with `includeHeaders` holds."""
    found: dict[str, list[Record]] = defaultdict(list)
    for row in _collected(frame.selectExpr(*_SHOWN)):
        assert row["timestampType"] == 0, "the time is the producer's"
        found[row["topic"]].append(_record(row))
    return {topic: in_order(records) for topic, records in found.items()}


def in_order(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.partition, record.offset))


def rows(spark: "SparkSession", topic: str, records: Iterable[Record]) -> "DataFrame":
    """What the sink writes these records from; it has no say in their times."""
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
    """Spark before 4.1 gave out bytearrays."""
    return None if value is None else bytes(value)
