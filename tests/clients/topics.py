"""Topics of the tests: unique names, and the expected contents after writes."""

import uuid
from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from tests.clients.protocol import Record
from tests.clients.registry import Client

PARTITIONS: Final = (0, 1)
"""Of every topic, unless a test says otherwise."""


def new_name() -> str:
    """Return a name that is unique even on a broker that outlives the run."""
    return f"matrix-{uuid.uuid4().hex[:12]}"


def log_of(writer: Client, records: Sequence[Record]) -> list[Record]:
    """Return the log after the client has written the records to an empty topic, with dense offsets."""
    seen: Counter[int] = Counter()
    log = []
    for record in records:
        log.append(replace(writer.says(record), offset=seen[record.partition]))
        seen[record.partition] += 1
    return log


def places(log: Sequence[Record]) -> list[tuple[int, int]]:
    """Return the acknowledgements: partition and offset of each record."""
    return [(record.partition, record.offset) for record in log]


def of(partition: int, records: Sequence[Record]) -> list[Record]:
    return [record for record in records if record.partition == partition]


def bounds(log: Sequence[Record]) -> list[tuple[int, int]]:
    """Return the first and the end offset of each partition."""
    return [(0, len(of(partition, log))) for partition in PARTITIONS]


def assert_shows(reader: Client, read: Sequence[Record], log: Sequence[Record]) -> None:
    """Check that each partition was read in order; there is no order between partitions."""
    shown = [reader.shows(record) for record in log]
    assert len(read) == len(shown)
    for partition in PARTITIONS:
        for came, there in zip(of(partition, read), of(partition, shown), strict=True):
            assert came == there, f"{reader.name} read {came}, the log shows it {there}"
