"""Stored batches, checked as a whole and decompressed: what the kernel needs of each. One at a time, in
Python.

Size, format and checksum are checked before anything else is believed. A batch that holds no records for
readers (a control batch, or one that was emptied) opens to nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
from typing_extensions import Buffer

from dray.records.checksum import crc32c
from dray.records.codecs import Codec, Scratch
from dray.records.columns.errors import DamagedBatch, OversizedBatch, UnreadableBatch
from dray.records.errors import BatchTooLarge, CorruptBatch, RecordError
from dray.records.header import CRC_START, HEADER_BYTES, MAGIC_V2, BatchHeader, parse_header
from dray.records.plausible import RECORD_BYTES_MIN
from dray.records.split import iter_batches

READ_BYTES_MAX: Final = 480 * 1024 * 1024
"""What a batch may grow to: more than a broker bears, because what clients can read must not get lost."""
_ATTRIBUTES_MASK: Final = 0xFFFF


class StoredBatch(NamedTuple):
    """A batch as it was stored, with the base offset that the index gave it; the one in its bytes is
    ignored."""

    base_offset: int
    buffer: Buffer


class OpenedBatch(NamedTuple):
    """A batch's line in the kernel's table, and what keeps its bytes alive."""

    row: tuple[int, ...]
    payload: pa.Buffer
    base_offset: int


def consecutive(base_offset: int, run: Buffer) -> Iterator[StoredBatch]:
    """Cut a run of batches whose offsets follow each other without a gap."""
    for header, batch in iter_batches(memoryview(run)):
        yield StoredBatch(base_offset, batch)
        base_offset += header.last_offset_delta + 1


def opened(batches: Iterable[StoredBatch], plain_bytes_max: int = READ_BYTES_MAX) -> Iterator[OpenedBatch]:
    """Open each batch that has records; raises `DamagedBatch`, `OversizedBatch` or `UnreadableBatch`."""
    scratch = Scratch()
    for base_offset, buffer in batches:
        view = memoryview(buffer).cast("B")
        header = _sound_header(base_offset, view)
        if header.is_control or not header.record_count:
            continue
        yield _opened(base_offset, header, _payload(base_offset, header, view, plain_bytes_max, scratch))


def _sound_header(base_offset: int, view: memoryview) -> BatchHeader:
    try:
        header = parse_header(view)
    except CorruptBatch as error:
        raise DamagedBatch(base_offset, error.message) from error
    if header.size_bytes != len(view):
        raise DamagedBatch(base_offset, f"it claims {header.size_bytes} bytes, there are {len(view)}")
    if header.magic != MAGIC_V2:
        raise UnreadableBatch(base_offset, f"it is of format {header.magic}; only {MAGIC_V2} is read")
    actual = crc32c(view[CRC_START:])
    if header.crc != actual:
        raise DamagedBatch(base_offset, f"it says CRC {header.crc:08x}, its bytes have {actual:08x}")
    return header


def _payload(
    base_offset: int, header: BatchHeader, view: memoryview, plain_bytes_max: int, scratch: Scratch
) -> pa.Buffer:
    """Return the plain bytes; decompressed ones in memory of Arrow's, which goes from batch to batch."""
    try:
        plain = scratch.decompress(header.codec, view[HEADER_BYTES:], plain_bytes_max)
    except BatchTooLarge as error:
        raise OversizedBatch(base_offset, error.message) from error
    except RecordError as error:
        raise UnreadableBatch(base_offset, error.message) from error
    if header.codec == Codec.NONE:
        return pa.py_buffer(plain)
    kept = pa.allocate_buffer(len(plain))
    memoryview(kept).cast("B")[:] = plain
    return kept


def _opened(base_offset: int, header: BatchHeader, payload: pa.Buffer) -> OpenedBatch:
    count = header.record_count
    if not 0 < count <= payload.size // RECORD_BYTES_MIN:
        raise UnreadableBatch(base_offset, f"it counts {count} records in {payload.size} bytes")
    row = (
        payload.address,
        payload.size,
        count,
        base_offset,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.attributes & _ATTRIBUTES_MASK,
    )
    return OpenedBatch(row, payload, base_offset)
