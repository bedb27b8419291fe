"""A row as all three ways of the tour must show it, and where they differ. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from dray.records import Record

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Row(NamedTuple):
    """A record, wherever it was read."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


def of_kafka(partition: int, record: Record) -> Row:
    return Row(partition, record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


def of_columns(row: Mapping[str, Any]) -> Row:
    return Row(
        row["partition"],
        row["offset"],
        (row["timestamp"] - _EPOCH) // timedelta(milliseconds=1),
        row["key"],
        row["value"],
        tuple((header["key"], header["value"]) for header in row["headers"]),
    )


def difference(expected: Iterable[Row], found: Iterable[Row]) -> str:
    """Say how two sets of rows differ; nothing if they do not. A row may not be there twice."""
    wanted, there = sorted(expected, key=_place), sorted(found, key=_place)
    if wanted == there:
        return ""
    for one, other in zip(wanted, there, strict=False):
        if one != other:
            return f"{one} is expected, and {other} is found"
    return f"{len(wanted)} rows are expected, and {len(there)} are found"


def shown(rows: Sequence[Row], count: int) -> list[tuple[object, ...]]:
    """Return the first rows as cells of text."""
    return [
        (row.partition, row.offset, (row.key or b"").decode(), (row.value or b"").decode())
        for row in sorted(rows, key=_place)[:count]
    ]


def _place(row: Row) -> tuple[int, int]:
    return row.partition, row.offset
