"""Small tagged record batches for tests of the log, and the tags of what was read."""

from collections.abc import Iterator, Sequence

from typing_extensions import Buffer

from dray.records import BatchRules, Record, ValidBatch, decode_batch, encode_batch, parse_header, validate

_RULES = BatchRules()


def tagged_batch(
    tag: str, now_ms: int, *, records: int = 1, producer_id: int = -1, epoch: int = -1, sequence: int = -1
) -> ValidBatch:
    """Return a batch of `records` records whose values are the tag, as a producer would send it."""
    encoded = encode_batch(
        [Record(offset, now_ms, None, tag.encode(), ()) for offset in range(records)],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return validate(memoryview(encoded), _RULES, now_ms)


def read_tags(parts: Sequence[Buffer]) -> Iterator[tuple[int, int, str]]:
    """Yield base offset, number of records and tag of each batch that a read returned."""
    joined = memoryview(b"".join(parts))
    position = 0
    while position < len(joined):
        header = parse_header(joined, position)
        batch = joined[position : position + header.size_bytes]
        first = decode_batch(batch)[0]
        yield header.base_offset, header.record_count, (first.value or b"").decode()
        position += header.size_bytes
