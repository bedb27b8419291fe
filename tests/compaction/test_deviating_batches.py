"""Deviating batches: rejected when produced, or read identically before and after compaction.

The batches are those of `tests.records.deviations`, in every codec. What a consumer reads of such a batch
depends on the client (tests/clients/test_deviating_batches.py). So there are only two ways to preserve it: as
rows, if every client reads the same records, and as the original bytes otherwise.
"""

from typing import Final

import pytest

from dray.index import ParquetEntry
from dray.log import TimedOffset
from dray.records import (
    BatchRules,
    Codec,
    InvalidBatch,
    InvalidTimestamp,
    Record,
    RecordError,
    TimestampType,
    decode_batch,
    decompress,
    encode_batch,
    iter_batches,
    parse_header,
)
from dray.records.header import HEADER_BYTES
from dray.records.raw import read_record
from tests.compaction.rounds import Compaction
from tests.log.builders import ONE, OpenLog, Rig, simulate
from tests.records.builders import received
from tests.records.deviations import (
    ALL,
    COUNTS,
    FRAMINGS,
    LARGE,
    SINGLES,
    SMALL,
    TIME_MS,
    TIMESTAMPS,
    VALID,
    Deviation,
)

SENT: Final = [
    (codec, before, TimestampType(kind))
    for codec in Codec
    for before in (SMALL, LARGE)
    for kind in TimestampType
]
OUT_OF_RANGE: Final = {
    "one far ahead",
    "one that wraps",
    "one at the beginning of numbers",
    "a single record, far ahead",
}
REJECTED_IF_SMALL: Final = {
    "a single record, missing",
    "a single record, cut short",
    "a single record, twice",
    "SNAPPY in Google's framing",
    "GZIP with zeros behind",
    "GZIP with a wrong checksum",
    *(f"{codec.name} {what}" for codec in Codec for what in ("cut short", "with garbage behind")),
}
BY_HEADER_ALONE: Final = {"last offset delta too high", "last offset delta too low"}


@pytest.mark.parametrize("deviation", ALL, ids=str)
def test_acknowledged_batches_read_the_same_after_compaction(deviation: Deviation) -> None:
    async def body(rig: Rig) -> None:
        opened = await rig.open()
        for codec, before, kind in SENT:
            if codec not in deviation.codecs:
                continue
            await _append(opened, VALID.batch(), TimestampType.CREATE)
            refused = await _append(opened, deviation.batch(codec, before), kind)
            assert refused == _expected(deviation, before, kind), (codec, before, kind)
        written = await _read(opened)
        compaction = Compaction(rig)
        await compaction.run()
        assert any(isinstance(entry, ParquetEntry) for entry in await rig.entries(ONE))
        assert await _read(await rig.open("reader")) == written
        await compaction.run("again")
        assert await _read(await rig.open("later")) == written

    simulate(body)


def _expected(deviation: Deviation, before: int, kind: TimestampType) -> type[RecordError] | None:
    """Return the broker's response: it validates every record of a small batch, including its timestamp."""
    if deviation.name in BY_HEADER_ALONE:
        return InvalidBatch
    if before == LARGE:
        out_of_range = kind is TimestampType.CREATE and deviation.name == "base far ahead"
        return InvalidTimestamp if out_of_range else None
    if deviation in COUNTS or deviation.name.startswith("record length"):
        return InvalidBatch
    if deviation.name in REJECTED_IF_SMALL:
        return InvalidBatch
    if deviation.name in OUT_OF_RANGE and kind is TimestampType.CREATE:
        return InvalidTimestamp
    return None


async def _append(opened: OpenLog, batch: bytes, kind: TimestampType) -> type[RecordError] | None:
    """Produce a batch into an object of its own; returns the error if it is rejected."""
    try:
        stored = received(batch, BatchRules(timestamp_type=kind), TIME_MS + 60_000)
    except RecordError as error:
        return type(error)
    await (await opened.log.append(ONE, stored))
    return None


async def _read(opened: OpenLog) -> list[object]:
    """Return what consumers read, in order: records, or bytes of batches that clients read differently."""
    offset, end, found = 0, (await opened.log.head(ONE)).high_watermark, list[object]()
    while offset < end:
        parts = (await opened.log.read(ONE, offset, 1 << 20)).parts
        for header, batch in iter_batches(memoryview(b"".join(parts))):
            found += _content(batch)
            offset = header.last_offset + 1
    return found


def _content(batch: memoryview) -> list[object]:
    header = parse_header(batch)
    try:
        records = decode_batch(batch)
    except RecordError:
        return [(header.base_offset, bytes(batch[16:]))]
    offsets = [record.offset for record in records]
    if offsets != list(range(header.base_offset, header.last_offset + 1)) or _has_attributes(batch):
        return [(header.base_offset, bytes(batch[16:]))]
    return list(records)


def _has_attributes(batch: memoryview) -> bool:
    header, position = parse_header(batch), 0
    payload = decompress(header.codec, batch[HEADER_BYTES:], 1 << 20)
    found = False
    for _ in range(header.record_count):
        record, position = read_record(payload, position)
        found |= record.attributes != 0
    return found


EARLIER, LATER = (encode_batch([Record(0, TIME_MS + ms, None, b"")]) for ms in (-100_000, 200_000))
LOOKUPS: Final = [TIME_MS + ms for ms in (-200_000, -500, -1, 0, 1, 500, 1000, 2000, 2001, 200_001)]
TIMED: Final = [one for one in (*TIMESTAMPS, *SINGLES, *FRAMINGS) if one.name not in REJECTED_IF_SMALL]
UNDETECTED: Final = {
    "latest the base",
    "latest too early",
    "a single record, latest too early",
    *OUT_OF_RANGE,
}
"""Deviations that a broker does not detect in a large batch, because its header is plausible."""


def _is_validated(deviation: Deviation, before: int) -> bool:
    return before == SMALL or deviation.name not in UNDETECTED


@pytest.mark.parametrize("before", [SMALL, LARGE], ids=["small", "large"])
@pytest.mark.parametrize("deviation", TIMED, ids=str)
def test_lookups_by_time_find_every_record(deviation: Deviation, before: int) -> None:
    """Whatever the header says; before compaction except for undetected ones in large batches."""
    for codec in deviation.codecs:

        async def body(rig: Rig, codec: Codec = codec) -> None:
            opened = await rig.open()
            for batch in (EARLIER, deviation.batch(codec, before), LATER):
                await _append(opened, batch, TimestampType.CREATE)
            sent = [one for one in await _read(opened) if isinstance(one, Record)]
            expected = [_first(sent, time_ms) for time_ms in LOOKUPS]
            newest = _first(sent, max(one.timestamp for one in sent))
            if _is_validated(deviation, before):
                assert [await opened.log.find_time(ONE, time_ms) for time_ms in LOOKUPS] == expected
            await Compaction(rig).run()
            reader = await rig.open("reader")
            assert [await reader.log.find_time(ONE, time_ms) for time_ms in LOOKUPS] == expected
            assert await reader.log.find_newest(ONE) == newest
            rows = [entry for entry in await rig.entries(ONE) if isinstance(entry, ParquetEntry)]
            for entry in rows:
                times = [one.timestamp for one in sent if entry.start_offset <= one.offset < entry.end_offset]
                assert (entry.min_timestamp_ms, entry.max_timestamp_ms) == (min(times), max(times))

        simulate(body)


def _first(records: list[Record], time_ms: int) -> TimedOffset | None:
    found = (TimedOffset(one.offset, one.timestamp) for one in records if one.timestamp >= time_ms)
    return next(found, None)
