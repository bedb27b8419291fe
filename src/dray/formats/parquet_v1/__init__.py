"""Compacted Parquet files, version 1: both a segment of the log and a data file of the topic's table.

Rows are the records of one partition in the order of their offsets, in row groups small enough that a broker
reads one to serve a fetch. `schema` documents the columns. `dray.formats` does not import this package,
because a broker must not load pyarrow before it needs it; its users need `dray[tables]`.
"""

import dray.formats.parquet_v1.schema  # noqa: F401  # first: it reports what to install if pyarrow is missing
from dray.formats.parquet_v1.errors import (
    CorruptParquet,
    FooterCut,
    ForeignParquet,
    ParquetError,
    RowsOutOfOrder,
)
from dray.formats.parquet_v1.footer import Footer, RowGroup, read_footer, row_groups, tail_crc
from dray.formats.parquet_v1.reader import SERVED, read_group
from dray.formats.parquet_v1.schema import SCHEMA
from dray.formats.parquet_v1.writer import GROUP_BYTES, SETTINGS, FileWriter, Output, WrittenFile

__all__ = [
    "GROUP_BYTES",
    "SCHEMA",
    "SERVED",
    "SETTINGS",
    "CorruptParquet",
    "FileWriter",
    "Footer",
    "FooterCut",
    "ForeignParquet",
    "Output",
    "ParquetError",
    "RowGroup",
    "RowsOutOfOrder",
    "WrittenFile",
    "read_footer",
    "read_group",
    "row_groups",
    "tail_crc",
]
