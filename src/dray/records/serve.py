"""Giving a stored batch its offsets.

Batches are stored as they came, with base offset 0. Base offset and leader epoch lie in the first 16
bytes, outside the CRC, so a batch is served by replacing those 16 bytes; the rest goes out from the
buffer it was read into.
"""

from dray.records.header import BROKERS_OWN, LENGTH_END


def served(batch: memoryview, base_offset: int, leader_epoch: int) -> tuple[bytes, memoryview]:
    """Return 16 fresh bytes and a view of the rest of this one batch."""
    return BROKERS_OWN.pack(base_offset, len(batch) - LENGTH_END, leader_epoch), batch[BROKERS_OWN.size :]
