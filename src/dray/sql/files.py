"""Parquet files of the object store as seekable files for pyarrow, and the search for a damaged one.

Reads go through Dray's own object store, with its settings and retries. The footer's checksum is verified
before pyarrow sees any of the file: a corrupt footer could crash the process.

pyarrow and DuckDB reduce errors to text, so failures are also recorded here. A file that is corrupt beyond
its footer is not named by DuckDB at all; `damage_in` finds it.
"""

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from crc32c import crc32c
from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA
from dray.index import ParquetEntry
from dray.log.errors import LogDamaged, LogError, entry_damaged
from dray.objects.port import ByteRange, NotFound, ObjectError, OutOfRange
from dray.scan.blocking import BlockingStore
from dray.scan.pieces import footer_of, footer_read, pieces_of
from dray.scan.ranges import EntryRange, Read

_END_BYTES: Final = 64 * 1024
"""Size of pyarrow's first read, at the end of a file."""


@dataclass(slots=True)
class Failures:
    """Errors of reading files, in order."""

    recorded: list[ObjectError | LogError] = field(default_factory=list)


class StoredFile(io.RawIOBase):
    """One file, read in ranges. pyarrow calls it from one thread at a time."""

    def __init__(self, store: BlockingStore, partition: int, entry: ParquetEntry, failures: Failures) -> None:
        self._store = store
        self._partition = partition
        self._entry = entry
        self._failures = failures
        self._at = 0
        self._end: memoryview | None = None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._entry.size_bytes}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._entry.size_bytes - self._at)
        length = left if size < 0 else min(size, left)
        try:
            data = self._bytes(self._at, length)
        except (ObjectError, LogError) as error:
            self._failures.recorded.append(error)
            raise OSError(str(error)) from error
        self._at += length
        return data

    def _bytes(self, start: int, length: int) -> bytes:
        end = self._checked_end()
        end_start = self._entry.size_bytes - len(end)
        if start >= end_start:
            return bytes(end[start - end_start : start - end_start + length])
        return bytes(self._range(start, length))

    def _checked_end(self) -> memoryview:
        if self._end is None:
            entry = self._entry
            length = min(entry.size_bytes, max(entry.footer_bytes, _END_BYTES))
            end = self._range(entry.size_bytes - length, length)
            if crc32c(end[length - entry.footer_bytes :]) != entry.footer_crc:
                raise self._damaged("its footer is damaged")
            self._end = end
        return self._end

    def _range(self, start: int, length: int) -> memoryview:
        if not length:
            return memoryview(b"")
        request = self._store.store.get_ranges(self._entry.path, [ByteRange(start, length)])
        try:
            (data,) = self._store.begin(request).result()
        except OutOfRange as error:
            raise self._damaged(f"the object is truncated: {error}") from error
        return memoryview(data)

    def _damaged(self, reason: str) -> LogDamaged:
        return entry_damaged(self._entry, reason, f"partition {self._partition}")


def damage_in(store: BlockingStore, entry_ranges: Iterable[EntryRange]) -> LogDamaged | None:
    """Return the error of the first damaged file, or None. Files deleted in the meantime are skipped.

    This reads all files from the first on, which takes as long as a query over all rows; but a damaged file
    that is not named cannot be repaired.
    """
    for entry_range in entry_ranges:
        try:
            for _ in _rows_of(store, entry_range):
                pass
        except LogDamaged as damaged:
            return damaged
        except NotFound:
            continue
    return None


def _rows_of(store: BlockingStore, entry_range: EntryRange) -> Iterator[object]:
    entry = entry_range.entry
    if not isinstance(entry, ParquetEntry):
        return  # WAL objects were read before DuckDB started
    footer = footer_of(entry_range, entry, _read(store, footer_read(entry)))
    for piece in pieces_of(entry_range, footer, SCHEMA.names):
        yield piece.rows(_read(store, piece.read))


def _read(store: BlockingStore, wanted: Read) -> Buffer:
    (data,) = store.begin(store.store.get_ranges(wanted.path, [wanted.at])).result()
    return data
