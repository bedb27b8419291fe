"""Reader of backups, version 1, fed with pieces of any size.

Every number is compared with the available bytes and with its limit before it is used. Memory is bounded by
the largest frame, before and after compression.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
from cramjam import DecompressionError, zstd
from crc32c import crc32c
from typing_extensions import Buffer

from dray.formats.backup_v1.layout import (
    CRC,
    END,
    FRAME,
    HEADER,
    MAGIC,
    NUMBER,
    PAYLOAD_BYTES_MAX,
    PREAMBLE,
    RECORDS,
    VERSION,
    BackupHeader,
    BackupTotals,
    CorruptBackup,
    Record,
)

T = TypeVar("T")

_header: Final = msgspec.msgpack.Decoder(BackupHeader)
_records: Final = msgspec.msgpack.Decoder(tuple[str, list[Record]])
_totals: Final = msgspec.msgpack.Decoder(BackupTotals)


@dataclass(frozen=True, slots=True)
class Begun:
    """The header."""

    header: BackupHeader


@dataclass(frozen=True, slots=True)
class Records:
    """Some keys of a domain."""

    domain: str
    records: list[Record]


@dataclass(frozen=True, slots=True)
class Ended:
    """The end, which was expected here: the totals are those of what was read."""

    totals: BackupTotals


Part = Begun | Records | Ended


class FrameReader:
    """Decodes one backup; `name` is only for messages."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pending = bytearray()
        self._position = 0
        self._frames = 0
        self._records = 0
        self._value_bytes = 0
        self._begun = False
        self.ended = False

    def feed(self, data: Buffer) -> Iterator[Part]:
        """Yield the frames that are complete; raises `CorruptBackup`."""
        self._pending += data
        if not self._begun and not self._skip_preamble():
            return
        while (part := self._next()) is not None:
            yield part
        if self.ended and self._pending:
            raise self._corrupt("there is something after the end")

    def finish(self) -> None:
        """Raise `CorruptBackup` unless the backup was read to its end."""
        if not self.ended:
            self._position += len(self._pending)
            raise self._corrupt("it is truncated")

    def _skip_preamble(self) -> bool:
        if len(self._pending) < PREAMBLE.size:
            return False
        magic, version = PREAMBLE.unpack_from(self._pending)
        if magic != MAGIC:
            raise self._corrupt(f"it starts with {magic!r}, a backup starts with {MAGIC!r}")
        if version != VERSION:
            raise self._corrupt(f"unknown version {version}: written by a newer Dray, or damaged")
        self._consume(PREAMBLE.size)
        self._begun = True
        return True

    def _next(self) -> Part | None:
        if self.ended or len(self._pending) < FRAME.size:
            return None
        kind, size, packed_size = FRAME.unpack_from(self._pending)
        if max(size, packed_size) > PAYLOAD_BYTES_MAX:
            raise self._corrupt(f"a frame of {max(size, packed_size)} bytes is too large")
        end = FRAME.size + packed_size
        if len(self._pending) < end + CRC.size:
            return None
        framed = bytes(self._pending[:end])
        (stored,) = CRC.unpack_from(self._pending, end)
        if crc32c(framed, crc32c(NUMBER.pack(self._frames))) != stored:
            raise self._corrupt(f"the checksum of frame {self._frames} does not match")
        part = self._decoded(kind, self._unpacked(framed, size))
        self._frames += 1
        self._consume(end + CRC.size)
        return part

    def _unpacked(self, framed: bytes, size: int) -> bytes:
        payload = bytearray(size)
        try:
            written = zstd.decompress_into(memoryview(framed)[FRAME.size :], payload)
        except DecompressionError as error:
            raise self._corrupt(f"frame {self._frames} cannot be decompressed: {error}") from error
        if written != size:
            raise self._corrupt(f"frame {self._frames} should have {size} bytes, it has {written}")
        return bytes(payload)

    def _decoded(self, kind: int, payload: bytes) -> Part:
        if (kind == HEADER) != (self._frames == 0):
            raise self._corrupt("the header must be the first frame, and only that")
        if kind == HEADER:
            return Begun(self._decode(_header, payload))
        if kind == RECORDS:
            found = Records(*self._decode(_records, payload))
            self._records += len(found.records)
            self._value_bytes += sum(len(record.value) for record in found.records)
            return found
        if kind == END:
            return self._end(self._decode(_totals, payload))
        raise self._corrupt(f"unknown kind of frame: {kind}")

    def _end(self, totals: BackupTotals) -> Ended:
        if totals != BackupTotals(self._records, self._value_bytes):
            raise self._corrupt(f"it should have {totals.records} records, it has {self._records}")
        self.ended = True
        return Ended(totals)

    def _decode(self, decoder: "msgspec.msgpack.Decoder[T]", payload: bytes) -> T:
        try:
            return decoder.decode(payload)
        except msgspec.DecodeError as error:
            raise self._corrupt(f"frame {self._frames} cannot be decoded: {error}") from error

    def _consume(self, size: int) -> None:
        del self._pending[:size]
        self._position += size

    def _corrupt(self, cause: str) -> CorruptBackup:
        return CorruptBackup(self._name, self._position, cause)
