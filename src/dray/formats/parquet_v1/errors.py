"""Errors of compacted Parquet files, sorted by what the caller must do.

ParquetError
├── FooterCut        too little of the end of the file was read: read `needed_bytes`
├── CorruptParquet   damaged, or not Parquet: restore it, or make it again from the table
├── ForeignParquet   valid, but without the statistics that reads by offset need: read it as a table
└── RowsOutOfOrder   a mistake of the caller: offsets must ascend
"""


class ParquetError(Exception):
    """A Parquet file that cannot be read or written as a log segment."""


class FooterCut(ParquetError):
    """More of the file's end is needed."""

    def __init__(self, given_bytes: int, needed_bytes: int) -> None:
        super().__init__(
            f"the footer takes the last {needed_bytes} bytes of the file, {given_bytes} were given"
        )
        self.needed_bytes = needed_bytes


class CorruptParquet(ParquetError):
    """Bytes that are not a valid Parquet file."""


class ForeignParquet(ParquetError):
    """A file without the statistics that reads by offset need."""


class RowsOutOfOrder(ParquetError):
    """Rows whose offsets do not ascend."""
