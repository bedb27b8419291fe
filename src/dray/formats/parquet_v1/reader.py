"""Reads of single row groups from their own bytes, for a broker that has ranges of an object and no file.

pyarrow reads files. It gets one that has only the bytes of the group, at their positions in the real file;
the footer is read separately. A read outside of them is an error of the footer or of the range.
"""

import io
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from typing_extensions import Buffer

from dray.formats.parquet_v1.errors import CorruptParquet
from dray.formats.parquet_v1.footer import Footer

SERVED: Final = ("offset", "timestamp", "key", "value", "headers", "attributes")
"""The columns that records are encoded from."""


def read_group(
    footer: Footer, number: int, position: int, data: Buffer, columns: Sequence[str] = SERVED
) -> pa.RecordBatch:
    """Return the rows of a group; `data` are the file's bytes from `position` on, with all of the group."""
    window = _Window(position, memoryview(data))
    try:
        file = pq.ParquetFile(
            window, metadata=footer.metadata, pre_buffer=False, page_checksum_verification=True
        )
        table = file.read_row_group(number, columns=list(columns), use_threads=False)
    except (pa.ArrowException, OSError) as error:
        cause = " ".join(str(error).split())  # it has several lines
        raise CorruptParquet(f"row group {number} cannot be read: {cause}") from error
    return _one_batch(table)


def _one_batch(table: pa.Table) -> pa.RecordBatch:
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)


class _Window(io.RawIOBase):
    """A file of which only one range is readable."""

    def __init__(self, position: int, data: memoryview) -> None:
        self._first = position
        self._data = data
        self._at = position

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._first + len(self._data)}[whence]
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        start = self._at - self._first
        if size < 0 or start < 0 or size > len(self._data) - start:
            raise OSError(
                f"{size} bytes at {self._at} were requested, only {len(self._data)} at {self._first} are here"
            )
        self._at += size
        return bytes(self._data[start : start + size])
