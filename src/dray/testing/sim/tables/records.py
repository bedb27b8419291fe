"""Unique, self-identifying records, which can be checked wherever they are read.

A record is identified by the tag of its batch and its number in the batch. Both are part of its value, or of
its key if the value is null. Compaction merges and splits batches, so records that were read are grouped into
the batches that were sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA, read_footer, read_group, row_groups
from dray.records import (
    BatchRules,
    Codec,
    Record,
    ValidBatch,
    decode_batch,
    encode_batch,
    iter_batches,
    validate,
)

_RULES = BatchRules()
_CODECS = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)
_MICROS_PER_MS = 1_000
_AGE_MS_MAX = 300
"""Maximum age of a record's timestamp when it is sent."""

Batch = tuple[int, int, str]
"""Base offset, number of records, tag."""


@dataclass(slots=True)
class SentRecords:
    """All records sent, to be compared with those read."""

    _sent: dict[str, tuple[Record, ...]] = field(default_factory=dict)

    def make_batch(self, tag: str, now_ms: int, random: Random, **producer: int) -> ValidBatch:
        records = tuple(_record(tag, number, now_ms, random) for number in range(random.randint(1, 4)))
        self._sent[tag] = records
        encoded = encode_batch(
            records,
            codec=random.choice(_CODECS),
            producer_id=producer.get("producer_id", -1),
            producer_epoch=producer.get("epoch", -1),
            base_sequence=producer.get("sequence", -1),
        )
        return validate(memoryview(encoded), _RULES, now_ms)

    def difference(self, record: Record) -> str | None:
        """Describe how a record that was read differs from the one sent, offsets apart."""
        tag, number = identity(record)
        sent = self._sent.get(tag)
        if sent is None or number >= len(sent):
            return f"{tag}/{number} was never sent"
        expected = replace(sent[number], offset=record.offset)
        return None if record == expected else f"{record} was sent as {expected}"


def _record(tag: str, number: int, now_ms: int, random: Random) -> Record:
    name = f"{tag}/{number}".encode()
    value = None if random.random() < 0.15 else name + b" " + bytes(random.randint(0, 60))
    key = name if value is None or random.random() < 0.5 else None
    headers = tuple(
        (random.choice(("h", "h", "äö")), random.choice((None, b"", name)))
        for _ in range(random.randint(0, 2))
    )
    return Record(number, now_ms - random.randint(0, _AGE_MS_MAX), key, value, headers)


def identity(record: Record) -> tuple[str, int]:
    """Return the tag of the batch in which a record was sent, and its number in the batch."""
    name = record.value if record.value is not None else record.key
    assert name is not None
    tag, _, number = name.partition(b" ")[0].decode().rpartition("/")
    return tag, int(number)


def records_in(parts: Sequence[Buffer], offset: int) -> list[Record]:
    """Return the records from `offset` on of what a read returned."""
    whole = memoryview(b"".join(parts))
    return [
        record
        for _, batch in iter_batches(whole)
        for record in decode_batch(batch)
        if record.offset >= offset
    ]


def as_sent(records: Iterable[Record]) -> list[Batch]:
    """Group records into the batches that were sent; the first and the last may be incomplete."""
    batches: list[Batch] = []
    for record in records:
        tag, number = identity(record)
        base = record.offset - number
        if batches and batches[-1] == (base, number, tag):
            batches[-1] = (base, number + 1, tag)
        else:
            batches.append((base, number + 1, tag))
    return batches


def rows_of(data: bytes) -> list[tuple[int, Record]]:
    """Return every row as a record with its partition, in the order of the file."""
    footer = read_footer(data)
    found: list[tuple[int, Record]] = []
    for number, group in enumerate(row_groups(footer)):
        part = data[group.position : group.position + group.length]
        rows = read_group(footer, number, group.position, part, SCHEMA.names)
        columns = [
            rows.column(name).to_pylist() for name in ("partition", "offset", "key", "value", "headers")
        ]
        stamps = rows.column("timestamp").cast("int64").to_pylist()
        for stamp, (partition, offset, key, value, headers) in zip(
            stamps, zip(*columns, strict=True), strict=True
        ):
            fields = tuple((header["key"], header["value"]) for header in headers)
            found.append((partition, Record(offset, stamp // _MICROS_PER_MS, key, value, fields)))
    return found
