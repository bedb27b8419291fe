"""Giving a stored batch its offsets.

Batches are stored as they came, with base offset 0. Base offset and leader epoch lie in the first 16
bytes, outside the CRC, so a batch is served by replacing those 16 bytes; the rest goes out from the
buffer it was read into.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from typing_extensions import Buffer

from dray.records.errors import CorruptBatch
from dray.records.header import EPOCH_END, LENGTH_END

_OWN_BYTES: Final = Struct(">qii")


def served(batch: memoryview, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """Return 16 fresh bytes and a view of the rest of this one batch."""
    return _OWN_BYTES.pack(base_offset, len(batch) - LENGTH_END, leader_epoch), batch[EPOCH_END:]


def served_together(
    chunk: memoryview, batches: Iterable[tuple[int, int, int]], leader_epoch: int
) -> bytearray:
    """Return many batches of `chunk` as one buffer; each is given as (offset in chunk, length, base offset).

    One copy, in exchange for one buffer to send instead of two per batch: worth it for small batches.
    """
    pack = _OWN_BYTES.pack
    pieces: list[Buffer] = []
    size_bytes = 0
    for start, length, base_offset in batches:
        pieces.append(pack(base_offset, length - LENGTH_END, leader_epoch))
        pieces.append(chunk[start + EPOCH_END : start + length])
        size_bytes += length
    together = bytearray().join(pieces)
    # A slice beyond the chunk is silently short; better no answer than a torn batch.
    if len(together) != size_bytes:
        raise CorruptBatch(f"the batches have {size_bytes} bytes, {len(together)} of them lie in the chunk")
    return together
