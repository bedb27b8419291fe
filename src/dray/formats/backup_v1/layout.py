"""Layout of a backup, version 1. All numbers are big-endian.

    preamble 9 | header frame | frames of records | end frame

A frame is 9 bytes (kind, size of the payload before and after compression), the compressed payload, and a
CRC32C of the frame's number, these 9 bytes and the payload. The number is not stored: a frame that is
missing, repeated or out of order fails its checksum.
"""

from struct import Struct
from typing import Final, NamedTuple

import msgspec

MAGIC: Final = b"DRAYMB1"
VERSION: Final = 1
PREAMBLE: Final = Struct(">7sH")
FRAME: Final = Struct(">BII")
NUMBER: Final = Struct(">Q")
CRC: Final = Struct(">I")
PAYLOAD_BYTES_MAX: Final = 256 * 1024 * 1024
"""The size of a payload before compression; one value of the store is never as large."""

HEADER: Final = ord("H")
RECORDS: Final = ord("R")
END: Final = ord("E")


class CorruptBackup(Exception):
    """The file is not a valid backup; the message says where it is damaged."""

    def __init__(self, name: str, position: int, cause: str) -> None:
        super().__init__(f"backup {name} is corrupt at byte {position}: {cause}")


class BackupHeader(msgspec.Struct, frozen=True, array_like=True, tag="mb1"):
    """What was saved, and when."""

    backup_id: str
    """Unique; sorts by time."""
    created_at_ms: int
    version: str
    """The Dray that wrote it."""
    store: str
    """The kind of metadata store: the scheme of its URL."""
    cluster: bytes
    """The cluster record, as it is stored."""
    position: int | None
    """Of the snapshot, by which a later backup recognizes that nothing has changed; None if unknown."""


class BackupTotals(msgspec.Struct, frozen=True, array_like=True, tag="me1"):
    """What precedes the end of a backup."""

    records: int
    value_bytes: int


class Record(NamedTuple):
    """A key with its value. Versions are not kept: they mean nothing in another store."""

    key: str
    value: bytes
