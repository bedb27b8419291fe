"""What a broker can afford to see of the records inside a batch.

Kafka reads every record it takes. In Python that costs 6 to 12 µs a record (`check_payload`), many times what
all else costs, and a compiled kernel would cost an idle broker its memory and its start. So:

- Of an uncompressed batch the first `LOOKED_AT` records are stepped over by their lengths, some 0.3 µs each.
  That finds rubbish where records should be, and any wrong count in a batch that is not larger.
- Of a compressed batch it is seen whether so many records can be in so few bytes (`plausible`).
- On a compacted topic a record without a key would never go away: there every record's key is looked at,
  compressed or not, some 0.6 µs each. Only a batch that has such a record, or cannot be read, is read in
  full, to name the faults as Kafka does.

What gets past this harms those who read the same topic, who get an error from it, and nobody else: offsets
are given by the header, which is checked.
"""

from typing import Final

from dray.records.codecs import Codec, decompress
from dray.records.errors import InvalidBatch
from dray.records.header import BatchHeader
from dray.records.payload import check_payload
from dray.records.plausible import RECORD_BYTES_MIN, check_count
from dray.records.rules import BatchRules
from dray.records.validate import ValidBatch

LOOKED_AT: Final = 16
PLAIN_BYTES_MAX: Final = 64 * 1024 * 1024
"""What a batch may grow to while it is decompressed."""
_NULL: Final = 1
"""-1 as a varint."""


def glance(batch: ValidBatch, rules: BatchRules, now_ms: int, plain_bytes_max: int = PLAIN_BYTES_MAX) -> None:
    """Raise a `RecordError` if the records are not what the header and the topic say, as far as is looked."""
    if rules.compacted:
        payload = decompress(batch.header.codec, batch.payload, plain_bytes_max)
        if not _all_have_keys(payload, batch.header.record_count):
            check_payload(batch.header, payload, rules, now_ms)
    elif batch.header.codec == Codec.NONE:
        _check_first(batch.header, batch.payload)
    else:
        check_count(batch.header.codec, batch.payload, batch.header.record_count)


def _check_first(header: BatchHeader, payload: memoryview) -> None:
    position, steps = 0, min(header.record_count, LOOKED_AT)
    try:
        for _ in range(steps):
            position = _record_end(payload, position)
    except IndexError:
        position = len(payload) + 1
    left, missing = len(payload) - position, header.record_count - steps
    if left < missing * RECORD_BYTES_MIN or (left and not missing):
        raise InvalidBatch(f"the header counts {header.record_count} records, the bytes behind it do not")


def _record_end(payload: memoryview, position: int) -> int:
    """Step over one record; beyond the end there may be anything, or an `IndexError`."""
    length, start = _varint(payload, position)
    if length < RECORD_BYTES_MIN - 1:
        raise IndexError(position)
    return start + length


def _all_have_keys(payload: memoryview, count: int) -> bool:
    """Whether the records can be stepped over, are as many as they should be, and have keys."""
    position = 0
    try:
        for _ in range(count):
            end = _record_end(payload, position)
            at = _after_varint(payload, position) + 1  # attributes
            at = _after_varint(payload, _after_varint(payload, at))  # two deltas
            if payload[at] == _NULL:
                return False
            position = end
    except IndexError:
        return False
    return position == len(payload)


def _varint(payload: memoryview, position: int) -> tuple[int, int]:
    """Return a zigzag varint of up to 32 bits and the position behind it."""
    value = shift = 0
    while (byte := payload[position]) > 127:
        value |= (byte & 127) << shift
        shift += 7
        position += 1
        if shift > 28:
            raise IndexError(position)
    value |= byte << shift
    return (value >> 1) ^ -(value & 1), position + 1


def _after_varint(payload: memoryview, position: int) -> int:
    while payload[position] > 127:
        position += 1
    return position + 1
