"""What is wrong with a Parquet file, or with what is to be written to one.

    ParquetError
    ├── FooterCut        not enough of the file's end was read: read `needed_bytes`
    ├── CorruptParquet   it is damaged, or no Parquet: restore it or give it up
    ├── ForeignParquet   sound, but without what we need: read it as a table, not by offset
    └── RowsOutOfOrder   the caller's mistake: offsets must ascend

They are sorted by what a reader must do.
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
    """Bytes that are no sound Parquet."""


class ForeignParquet(ParquetError):
    """A file without what serving by offset needs."""


class RowsOutOfOrder(ParquetError):
    """Rows whose offsets do not ascend."""
