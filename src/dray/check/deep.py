"""Verification of bytes: checksums of WAL objects, of batches where entries locate them, of Parquet footers.

A WAL object is read as a whole once, and again range by range: the first proves that it is what was written,
the second that the index leads to its batches.
"""

from collections.abc import Sequence

from typing_extensions import Buffer

from dray.check.deps import CheckDeps
from dray.formats.wal_v1 import CorruptWal, verify
from dray.index import IndexEntry, ParquetEntry, WalEntry, parse_wal_path
from dray.log.stages import is_stored
from dray.objects.port import ByteRange, NotFound, OutOfRange, StoreUnusable
from dray.records import crc32c

_FOOTER_END = b"PAR1"


class Verifier:
    """Reads objects and returns what is wrong with them, or an empty text."""

    def __init__(self, deps: CheckDeps) -> None:
        self._deps = deps

    async def wal_object(self, path: str) -> str:
        """Verify the checksum of a whole WAL object, and that it is the object that its path names."""
        try:
            whole = await self._deps.objects.get(path)
            self._count(memoryview(whole).nbytes)
            header = verify(path, whole)
        except (CorruptWal, NotFound, StoreUnusable) as error:
            return str(error)
        named = parse_wal_path(path)
        if named is not None and (header.domain, header.wal_id) != named:
            return f"it is the object {header.wal_id.hex()} of domain {header.domain}"
        return ""

    async def entry(self, entry: IndexEntry) -> str:
        """Verify what an entry locates: its batches, or the footer of its file."""
        if isinstance(entry, ParquetEntry):
            return await self._footer(entry)
        return await self._batches(entry)

    async def _batches(self, entry: WalEntry) -> str:
        chunk, error = await self._read(entry.path, ByteRange(entry.chunk_offset, entry.chunk_length))
        if chunk is None:
            return error
        view = memoryview(chunk)
        for row in entry.rows:
            if not is_stored(view[row.position : row.position + row.length], row):
                at, offset = entry.chunk_offset + row.position, entry.start_offset + row.start_delta
                return f"the batch at byte {at}, offset {offset}, is damaged or another one"
        return ""

    async def _footer(self, entry: ParquetEntry) -> str:
        at = ByteRange(entry.size_bytes - entry.footer_bytes, entry.footer_bytes)
        tail, error = await self._read(entry.path, at)
        if tail is None:
            return error
        found = crc32c(tail)
        if found != entry.footer_crc or bytes(memoryview(tail)[-len(_FOOTER_END) :]) != _FOOTER_END:
            return f"its footer should have CRC {entry.footer_crc:08x}, it has {found:08x}"
        return ""

    async def _read(self, path: str, at: ByteRange) -> tuple[Buffer | None, str]:
        try:
            found: Sequence[Buffer] = await self._deps.objects.get_ranges(path, [at])
        except (NotFound, OutOfRange, StoreUnusable) as error:
            return None, str(error)
        self._count(at.length)
        return found[0], ""

    def _count(self, size_bytes: int) -> None:
        self._deps.progress.read_bytes += size_bytes
        self._deps.report()
