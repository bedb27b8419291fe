"""Telling what is wrong with an object by the records that are in it, so that a person can act on it."""

from collections.abc import Iterator
from contextlib import contextmanager

from dray.formats.parquet_v1 import ParquetError
from dray.index import IndexEntry
from dray.log.errors import entry_damaged
from dray.objects.port import OutOfRange
from dray.records.columns import DamagedBatch, OversizedBatch


@contextmanager
def telling_of(entry: IndexEntry, where: str = "") -> Iterator[None]:
    """Raise `LogDamaged` for an entry whose object turns out to be damaged."""
    try:
        yield
    except OutOfRange as error:
        raise entry_damaged(entry, f"it is too short: {error}", where) from error
    except (DamagedBatch, OversizedBatch, ParquetError) as error:
        raise entry_damaged(entry, error, where) from error
