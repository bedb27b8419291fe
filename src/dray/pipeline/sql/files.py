"""A Parquet file of the object store as pyarrow wants it: something to seek and read in.

Every store that Dray has can be read so, with the settings and the patience that Dray has for it. The footer
is checked before pyarrow sees any of the file: a damaged one could end the process.

What goes wrong here passes through pyarrow and DuckDB as mere text; so it is also noted.
"""

import io
from dataclasses import dataclass, field
from typing import Final

from crc32c import crc32c

from dray.index import ParquetEntry
from dray.log.errors import LogDamaged, LogError, entry_damaged
from dray.objects.port import ByteRange, ObjectError, OutOfRange
from dray.pipeline.blocking import BlockingStore

_END_BYTES: Final = 64 * 1024
"""What pyarrow reads first, at the end of a file."""


@dataclass(slots=True)
class Troubles:
    """What went wrong while files were read."""

    noted: list[ObjectError | LogError] = field(default_factory=list)


class StoredFile(io.RawIOBase):
    """One file, read range by range. pyarrow calls from one thread at a time."""

    def __init__(self, store: BlockingStore, partition: int, entry: ParquetEntry, troubles: Troubles) -> None:
        self._store = store
        self._partition = partition
        self._entry = entry
        self._troubles = troubles
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
            self._troubles.noted.append(error)
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
        asked = self._store.store.get_ranges(self._entry.path, [ByteRange(start, length)])
        try:
            (data,) = self._store.begin(asked).result()
        except OutOfRange as error:
            raise self._damaged(f"it is too short: {error}") from error
        return memoryview(data)

    def _damaged(self, why: str) -> LogDamaged:
        return entry_damaged(self._entry, why, f"partition {self._partition}")
