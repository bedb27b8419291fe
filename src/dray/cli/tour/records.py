"""Records of the tour, and the comparison of the rows that Kafka, the table and SQL return; pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from dray.client import ProducerRecord

TOPIC: Final = "orders"
PARTITIONS: Final = 3
HOT: Final = 5
"""How many are produced after compaction."""
_CITIES: Final = ("Oslo", "Lima", "Accra", "Kyoto", "Quito", "Turin", "Pune")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def orders(first: int, count: int, now_ms: int) -> Iterator[ProducerRecord]:
    """Yield orders with consecutive numbers and timestamps a second apart, the last one now."""
    for number in range(first, first + count):
        order = {
            "order": number,
            "city": _CITIES[number * 5 % len(_CITIES)],
            "amount": 5 + number * 37 % 500,
        }
        yield ProducerRecord(
            line=number,
            key=f"customer-{number * 13 % 211}".encode(),
            value=msgspec.json.encode(order),
            headers=(("source", b"demo"), ("trace", f"{number:08x}".encode())),
            timestamp_ms=now_ms - 1000 * (first + count - 1 - number),
        )


class Row(NamedTuple):
    """A record, read through any of the three."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


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
    """Return the first difference between two sets of rows, or an empty text. Duplicates differ."""
    wanted, actual = sorted(expected, key=_place), sorted(found, key=_place)
    if wanted == actual:
        return ""
    for one, other in zip(wanted, actual, strict=False):
        if one != other:
            return f"expected {one}, found {other}"
    return f"expected {len(wanted)} rows, found {len(actual)}"


def first_rows(rows: Sequence[Row], count: int) -> list[tuple[object, ...]]:
    """Return the first rows as text cells."""
    return [
        (row.partition, row.offset, (row.key or b"").decode(), (row.value or b"").decode())
        for row in sorted(rows, key=_place)[:count]
    ]


def _place(row: Row) -> tuple[int, int]:
    return row.partition, row.offset
