"""Records that are all different and say which they are, so that any one of them can be checked anywhere.

A record is known by the tag of its batch and its number in it. Both stand in its value, or in its key if the
value is null. Compaction puts records of several batches into one, or cuts a batch in two; so what is read is
put together again as it was sent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from typing_extensions import Buffer

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
_AGE_MS_MAX = 300
"""How much older than the moment of sending a record's timestamp may be."""

Batch = tuple[int, int, str]
"""Base offset, number of records, tag."""


@dataclass(slots=True)
class Drafts:
    """What was sent, record by record, to be compared with what is read."""

    _sent: dict[str, tuple[Record, ...]] = field(default_factory=dict)

    def make(self, tag: str, now_ms: int, random: Random, **said: int) -> ValidBatch:
        records = tuple(_record(tag, number, now_ms, random) for number in range(random.randint(1, 4)))
        self._sent[tag] = records
        encoded = encode_batch(
            records,
            codec=random.choice(_CODECS),
            producer_id=said.get("producer_id", -1),
            producer_epoch=said.get("epoch", -1),
            base_sequence=said.get("sequence", -1),
        )
        return validate(memoryview(encoded), _RULES, now_ms)

    def difference(self, record: Record) -> str | None:
        """Say what is wrong with a record that was read; its offset is not looked at."""
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
    """Return the tag of the batch that a record was sent in, and its number there."""
    name = record.value if record.value is not None else record.key
    assert name is not None
    tag, _, number = name.partition(b" ")[0].decode().rpartition("/")
    return tag, int(number)


def records_in(parts: Sequence[Buffer], offset: int) -> list[Record]:
    """Return the records from `offset` on, of what a read returned."""
    whole = memoryview(b"".join(parts))
    return [
        record
        for _, batch in iter_batches(whole)
        for record in decode_batch(batch)
        if record.offset >= offset
    ]


def as_sent(records: Iterable[Record]) -> list[Batch]:
    """Put records together as batches again; the first and the last may have been cut."""
    batches: list[Batch] = []
    for record in records:
        tag, number = identity(record)
        base = record.offset - number
        if batches and batches[-1] == (base, number, tag):
            batches[-1] = (base, number + 1, tag)
        else:
            batches.append((base, number + 1, tag))
    return batches
