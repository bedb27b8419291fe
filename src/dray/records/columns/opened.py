"""Stored batches verified and decompressed for the kernel, one at a time, in Python.

Size, format and checksum are verified before anything else is read. A batch without records for consumers (a
control batch, or one that counts none) is left out.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
from typing_extensions import Buffer

from dray.records.codecs import Codec, Scratch
from dray.records.columns.errors import DamagedBatch, OversizedBatch, UnconvertibleBatch
from dray.records.decompression_bounds import RECORD_BYTES_MIN
from dray.records.errors import BatchTooLarge, CorruptBatch, RecordError
from dray.records.header import CRC_START, HEADER_BYTES, MAGIC_V2, BatchHeader, iter_batches, parse_header
from dray.records.primitives import crc32c

READ_BYTES_MAX: Final = 480 * 1024 * 1024
"""Limit of the decompressed size: higher than a broker's, so that records that clients can read are kept."""
_ATTRIBUTES_MASK: Final = 0xFFFF


class StoredBatch(NamedTuple):
    """A batch as it was stored, with its base offset in the index; the one in its bytes is ignored."""

    base_offset: int
    buffer: Buffer


class OpenedBatch(NamedTuple):
    """The row of a batch in the kernel's table, and the buffer that keeps its bytes alive."""

    row: tuple[int, ...]
    payload: pa.Buffer
    base_offset: int
    last_offset: int


def consecutive(base_offset: int, run: Buffer) -> Iterator[StoredBatch]:
    """Yield the batches of a run whose offsets follow each other without a gap."""
    for header, batch in iter_batches(memoryview(run)):
        yield StoredBatch(base_offset, batch)
        base_offset += header.last_offset_delta + 1


def opened(batches: Iterable[StoredBatch], plain_bytes_max: int = READ_BYTES_MAX) -> Iterator[OpenedBatch]:
    """Open each batch that has records; raises `DamagedBatch`, `OversizedBatch` or `UnconvertibleBatch`."""
    scratch = Scratch()
    for base_offset, buffer in batches:
        view = memoryview(buffer).cast("B")
        header = _valid_header(base_offset, view)
        if header.is_control or not header.record_count:
            continue
        yield _opened(base_offset, header, _payload(base_offset, header, view, plain_bytes_max, scratch))


def _valid_header(base_offset: int, view: memoryview) -> BatchHeader:
    try:
        header = parse_header(view)
    except CorruptBatch as error:
        raise DamagedBatch(base_offset, error.message) from error
    if header.size_bytes != len(view):
        raise DamagedBatch(base_offset, f"it has length {header.size_bytes}, found {len(view)} bytes")
    if header.magic != MAGIC_V2:
        raise DamagedBatch(base_offset, f"it is of format {header.magic}; only {MAGIC_V2} is stored")
    actual = crc32c(view[CRC_START:])
    if header.crc != actual:
        raise DamagedBatch(base_offset, f"CRC mismatch: stored {header.crc:08x}, computed {actual:08x}")
    return header


def _payload(
    base_offset: int, header: BatchHeader, view: memoryview, plain_bytes_max: int, scratch: Scratch
) -> pa.Buffer:
    """Return the decompressed bytes, in memory from Arrow's pool, which reuses it from batch to batch."""
    try:
        plain = scratch.decompress(header.codec, view[HEADER_BYTES:], plain_bytes_max)
    except BatchTooLarge as error:
        raise OversizedBatch(base_offset, base_offset + header.last_offset_delta, error.message) from error
    except RecordError as error:
        raise UnconvertibleBatch(
            base_offset, base_offset + header.last_offset_delta, error.message
        ) from error
    if header.codec == Codec.NONE:
        return pa.py_buffer(plain)
    kept = pa.allocate_buffer(len(plain))
    memoryview(kept).cast("B")[:] = plain
    return kept


def _opened(base_offset: int, header: BatchHeader, payload: pa.Buffer) -> OpenedBatch:
    count, last_offset = header.record_count, base_offset + header.last_offset_delta
    if not 0 < count <= payload.size // RECORD_BYTES_MIN:
        cause = f"it counts {count} records in {payload.size} bytes"
        raise UnconvertibleBatch(base_offset, last_offset, cause)
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
    return OpenedBatch(row, payload, base_offset, last_offset)
