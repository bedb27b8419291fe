"""The records of the tour: orders as JSON, with keys and headers, all different. Pure."""

from collections.abc import Iterator

import msgspec

from dray.cli.client.drafts import Draft

TOPIC = "orders"
PARTITIONS = 3
HOT = 5
"""How many come after compaction."""
_CITIES = ("Oslo", "Lima", "Accra", "Kyoto", "Quito", "Turin", "Pune")


def orders(first: int, count: int, now_ms: int) -> Iterator[Draft]:
    """Yield orders with consecutive numbers; they came a second apart, the last one now."""
    for number in range(first, first + count):
        order = {
            "order": number,
            "city": _CITIES[number * 5 % len(_CITIES)],
            "amount": 5 + number * 37 % 500,
        }
        yield Draft(
            line=number,
            key=f"customer-{number * 13 % 211}".encode(),
            value=msgspec.json.encode(order),
            headers=(("source", b"demo"), ("trace", f"{number:08x}".encode())),
            timestamp_ms=now_ms - 1000 * (first + count - 1 - number),
        )
