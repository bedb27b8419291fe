"""Writer of backups, version 1. Each method returns bytes, which the caller writes in this order."""

from collections.abc import Sequence
from typing import Final

import msgspec
from cramjam import zstd
from crc32c import crc32c

from dray.formats.backup_v1.layout import (
    CRC,
    END,
    FRAME,
    HEADER,
    MAGIC,
    NUMBER,
    PREAMBLE,
    RECORDS,
    VERSION,
    BackupHeader,
    BackupTotals,
    Record,
)

_LEVEL: Final = 3
_encode: Final = msgspec.msgpack.Encoder().encode


class FrameWriter:
    """Encodes one backup."""

    def __init__(self) -> None:
        self._frames = 0
        self.records = 0
        self.value_bytes = 0

    def begin(self, header: BackupHeader) -> bytes:
        return PREAMBLE.pack(MAGIC, VERSION) + self._frame(HEADER, _encode(header))

    def add(self, domain: str, records: Sequence[Record]) -> bytes:
        """Encode some keys of a domain; a domain may have many frames."""
        self.records += len(records)
        self.value_bytes += sum(len(record.value) for record in records)
        return self._frame(RECORDS, _encode((domain, records)))

    def end(self) -> bytes:
        return self._frame(END, _encode(BackupTotals(self.records, self.value_bytes)))

    def _frame(self, kind: int, payload: bytes) -> bytes:
        packed = bytes(zstd.compress(payload, level=_LEVEL))
        framed = FRAME.pack(kind, len(payload), len(packed)) + packed
        checked = crc32c(framed, crc32c(NUMBER.pack(self._frames)))
        self._frames += 1
        return framed + CRC.pack(checked)
