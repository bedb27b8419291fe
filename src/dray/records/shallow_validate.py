"""Shallow validation of the records inside a batch.

Apache Kafka reads every record that it stores. In Python that takes 6 to 12 µs a record (`check_payload`),
many times the cost of all else, and a compiled kernel would cost an idle broker memory and start-up time. So
records are stepped over by their lengths, a quarter of a microsecond each, and not all of them:

| batch | what is read |
|---|---|
| uncompressed, at most 16 records | every record's length and time |
| compressed, at most 16 records in at most 256 bytes | the same |
| larger, uncompressed | the first 16 records' lengths and times |
| any other, compressed | whether so many records can be in so few bytes (`decompression_bounds`) |
| header with doubtful times (`has_doubtful_times`), topic in another codec | every record's length and time |
| a topic with `cleanup.policy=compact` | every record's length, time and key |

Where every time is read, each is checked against the topic's limits and maxTimestamp is corrected, as Kafka
does for every batch; a batch that fails is read in full, to name the records at fault. Elsewhere maxTimestamp
counts as it was sent, in lookups by time and for `retention.ms`, until compaction turns the batch into rows.

A batch that passes with broken records fails in the consumers that read it. It uses up no more offsets than a
valid one, because they follow from the header, and compaction keeps it as it was sent
(`columns.UnconvertibleBatch`).
"""

from typing import Final

from dray.records.codecs import Codec, decompress
from dray.records.decompression_bounds import RECORD_BYTES_MIN, check_count
from dray.records.errors import BatchTooLarge, InvalidBatch
from dray.records.header import LOG_APPEND_BIT, NO_TIMESTAMP
from dray.records.payload import check_payload
from dray.records.rules import LONG_MAX, BatchRules, create_time
from dray.records.validate import ValidBatch

RECORDS_READ: Final = 16
PACKED_BYTES_READ: Final = 256
_SMALL_PLAIN_BYTES: Final = 2 * 1024
PLAIN_BYTES_MAX: Final = 64 * 1024 * 1024
"""Limit of the decompressed size of a batch."""
_LENGTH_MIN: Final = 2 * (RECORD_BYTES_MIN - 1)
"""The length of the shortest record, as a zigzag number."""


def shallow_validate(batch: ValidBatch, rules: BatchRules, now_ms: int) -> ValidBatch | None:
    """Return the batch, with maxTimestamp corrected where all times were read; raises a `RecordError`.

    None means that the records contradict the header, so that `validate_records` must read them all. Where
    the topic is compacted, or the header has doubtful times, that must be called in place of this.
    """
    header = batch.header
    payload = batch.payload if header.codec == Codec.NONE else _small_plain(batch)
    if payload is None:
        check_count(header.codec, batch.payload, header.record_count)
        return batch
    count = min(header.record_count, RECORDS_READ)
    missing = header.record_count - count
    try:
        end, deltas = _step_over(payload, count)
    except _Broken:
        end, deltas = len(payload) + 1, []
    left = len(payload) - end
    if left < missing * RECORD_BYTES_MIN or (left and not missing):
        raise InvalidBatch(f"the header counts {header.record_count} records, the bytes after it do not")
    if header.attributes & LOG_APPEND_BIT:
        return batch
    if not missing:
        return _with_latest(batch, _latest(batch, payload, deltas, rules, now_ms))
    highest = max((delta for delta in deltas if not delta & 1), default=0) >> 1
    return batch if header.base_timestamp + highest <= header.max_timestamp else None


def validate_records(
    batch: ValidBatch, rules: BatchRules, now_ms: int, plain_bytes_max: int = PLAIN_BYTES_MAX
) -> ValidBatch:
    """Validate lengths and times of all records, and on a compacted topic keys; raises a `RecordError`.

    Returns the batch with maxTimestamp corrected. Takes milliseconds for a large batch.
    """
    header, payload = batch.header, decompress(batch.header.codec, batch.payload, plain_bytes_max)
    try:
        end, deltas = (_step_over_keyed if rules.compacted else _step_over)(payload, header.record_count)
    except _Broken:
        end, deltas = -1, []
    if end != len(payload):
        latest = check_payload(header, payload, rules, now_ms).max_timestamp  # names what is wrong
    elif header.attributes & LOG_APPEND_BIT:
        return batch
    else:
        latest = _latest(batch, payload, deltas, rules, now_ms)
    return _with_latest(batch, latest)


def _small_plain(batch: ValidBatch) -> memoryview | None:
    """Return the records of a small compressed batch; None if it is not small."""
    if batch.header.record_count > RECORDS_READ or len(batch.payload) > PACKED_BYTES_READ:
        return None
    try:
        return decompress(batch.header.codec, batch.payload, _SMALL_PLAIN_BYTES)
    except BatchTooLarge:
        return None


class _Broken(Exception):
    """Records cannot be stepped over, or one that needs a key has none."""


def _step_over(payload: memoryview, count: int) -> tuple[int, list[int]]:
    """Return where the records end, by their lengths, and their timestamp deltas, still zigzag.

    Numbers of one or two bytes, as nearly all are, are read in place: a call takes as long as all the rest.
    """
    at, deltas = 0, []
    try:
        for _ in range(count):
            length = payload[at]
            at += 1
            if length > 127:
                length = length & 127 | payload[at] << 7
                at += 1
                if length > 0x3FFF:
                    length, at = _longer(payload, at, length & 0x3FFF, 14, 32)
            if length < _LENGTH_MIN or length & 1:
                raise _Broken
            delta = payload[at + 1]  # after the attributes
            if delta > 127:
                second = payload[at + 2]
                if second < 128:
                    delta = delta & 127 | second << 7
                else:
                    delta, _ = _longer(payload, at + 2, delta & 127, 7, 64)
            deltas.append(delta)
            at += length >> 1
    except IndexError:
        raise _Broken from None
    return at, deltas


def _step_over_keyed(payload: memoryview, count: int) -> tuple[int, list[int]]:
    """As `_step_over`, and every record must have a key."""
    at, deltas = 0, []
    try:
        for _ in range(count):
            length, at = _number(payload, at, 32)
            if length < _LENGTH_MIN or length & 1:
                raise _Broken
            delta, behind = _number(payload, at + 1, 64)
            _, behind = _number(payload, behind, 32)
            if payload[behind] & 1:  # the key's length is negative
                raise _Broken
            deltas.append(delta)
            at += length >> 1
    except IndexError:
        raise _Broken from None
    return at, deltas


def is_numbered(payload: memoryview, count: int) -> bool:
    """Return whether the offset deltas are 0, 1, 2…; true also for records that cannot be stepped over."""
    at = 0
    try:
        for number in range(count):
            length, at = _number(payload, at, 32)
            _, behind = _number(payload, at + 1, 64)
            delta, _ = _number(payload, behind, 32)
            if delta != 2 * number:
                return False
            at += length >> 1
    except (IndexError, _Broken):
        pass
    return True


def _number(payload: memoryview, at: int, bits: int) -> tuple[int, int]:
    """Return a variable-length number, still zigzag, and the position after it."""
    byte = payload[at]
    return (byte, at + 1) if byte < 128 else _longer(payload, at + 1, byte & 127, 7, bits)


def _longer(payload: memoryview, at: int, value: int, shift: int, bits: int) -> tuple[int, int]:
    """Continue a number of which `shift` bits were read."""
    while shift < bits:
        byte = payload[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (1 << bits) - 1, at
        shift += 7
    raise _Broken


def _latest(batch: ValidBatch, payload: memoryview, deltas: list[int], rules: BatchRules, now_ms: int) -> int:
    """Return the latest time of all records; raises `InvalidTimestamp` that names those out of range."""
    base = batch.header.base_timestamp
    negative = [delta for delta in deltas if delta & 1]
    if negative:
        times = [base + ((delta >> 1) ^ -(delta & 1)) for delta in deltas]
        earliest, latest = min(times), max(times)
    else:
        earliest, latest = base, base + (max(deltas) >> 1)
    if (
        earliest >= -LONG_MAX
        and latest <= LONG_MAX
        and now_ms - earliest <= rules.timestamp_before_max_ms
        and latest - now_ms <= rules.timestamp_after_max_ms
    ):
        return latest
    # Some time may be out of range; it may also wrap, or be -1, which is allowed.
    return check_payload(batch.header, payload, rules, now_ms).max_timestamp


def _with_latest(batch: ValidBatch, latest: int) -> ValidBatch:
    """Return the batch with the latest time of its records in the header: -1 at least, as in Kafka."""
    latest = max(latest, NO_TIMESTAMP)
    if latest == batch.header.max_timestamp:
        return batch
    sealed, head, payload = create_time(memoryview(batch.buffer), batch.header, latest)
    return ValidBatch(sealed, (head, payload), batch.append_time_ms)
