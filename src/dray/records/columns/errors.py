"""Which batch of many cannot be read, and what can be done.

    RecordError
    ├── CorruptBatch ─── DamagedBatch      the bytes are not those that were stored: read them again
    ├── BatchTooLarge ── OversizedBatch    they are, and are more than we read at once; a client may read them
    └── InvalidBatch ─── UnreadableBatch   they are, and break the format: a producer sent them so

A broker does not look into compressed batches, so there can be unreadable ones in any log.
"""

from dray.records.errors import BatchTooLarge, CorruptBatch, InvalidBatch


class DamagedBatch(CorruptBatch):
    """A stored batch whose size or checksum does not hold."""

    def __init__(self, base_offset: int, cause: str) -> None:
        super().__init__(f"the batch at offset {base_offset} is damaged: {cause}")
        self.base_offset = base_offset


class OversizedBatch(BatchTooLarge):
    """A stored batch that is sound as far as it was read, and goes on."""

    def __init__(self, base_offset: int, cause: str) -> None:
        super().__init__(f"the batch at offset {base_offset} is too large: {cause}")
        self.base_offset = base_offset


class UnreadableBatch(InvalidBatch):
    """A stored batch whose records cannot be read; `record` counts from 0, -1 if it is the batch itself."""

    def __init__(self, base_offset: int, cause: str, record: int = -1) -> None:
        where = f", in record {record}" if record >= 0 else ""
        super().__init__(f"the batch at offset {base_offset} cannot be read{where}: {cause}")
        self.base_offset = base_offset
        self.record = record
