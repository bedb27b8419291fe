"""Stored batches that do not become rows, and why.

    RecordError
    ├── CorruptBatch ─── DamagedBatch          the bytes are not those that were stored: read them again
    ├── BatchTooLarge ── OversizedBatch        larger than a decoder may grow it; clients may still read it
    └── InvalidBatch ─── UnconvertibleBatch    stored as it was sent, and no table can hold its records

A broker does not read the records it stores, so any log can hold the last two. Clients disagree about them:
librdkafka delivers records that the Java consumer skips or fails on. They lose nothing only while the batch
itself is kept.
"""

from dray.records.errors import BatchTooLarge, CorruptBatch, InvalidBatch


class DamagedBatch(CorruptBatch):
    """A stored batch whose size, format or checksum does not hold."""

    def __init__(self, base_offset: int, cause: str) -> None:
        super().__init__(f"the batch at offset {base_offset} is damaged: {cause}")
        self.base_offset = base_offset


class OversizedBatch(BatchTooLarge):
    """A stored batch that is valid as far as it was decompressed, and longer than that."""

    def __init__(self, base_offset: int, last_offset: int, cause: str) -> None:
        super().__init__(f"the batch at offset {base_offset} is too large: {cause}")
        self.base_offset = base_offset
        self.last_offset = last_offset


class UnconvertibleBatch(InvalidBatch):
    """A stored batch whose records cannot become rows; `record` counts from 0, -1 stands for the batch."""

    def __init__(self, base_offset: int, last_offset: int, cause: str, record: int = -1) -> None:
        where = f", record {record}" if record >= 0 else ""
        super().__init__(f"the batch at offset {base_offset} cannot become rows{where}: {cause}")
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.record = record
