"""Finding the Parquet file that cannot be read: pyarrow tells DuckDB what is wrong, and not where.

All files are gone through, from the first, which takes as long as a query over all rows; but nobody can mend
what is not named.
"""

from collections.abc import Iterable, Iterator

from typing_extensions import Buffer

from dray.formats.parquet_v1 import SCHEMA
from dray.index import ParquetEntry
from dray.log import LogDamaged
from dray.objects.port import NotFound
from dray.pipeline.blocking import BlockingStore
from dray.pipeline.reading.pieces import footer_of, footer_read, pieces_of
from dray.pipeline.reading.stretches import Stretch
from dray.pipeline.reads import Read


def damage_in(store: BlockingStore, stretches: Iterable[Stretch]) -> LogDamaged | None:
    """Return what is wrong with the first file that is damaged, if one is. Those that are gone by now are
    not."""
    for stretch in stretches:
        try:
            for _ in _rows_of(store, stretch):
                pass
        except LogDamaged as damaged:
            return damaged
        except NotFound:
            continue
    return None


def _rows_of(store: BlockingStore, stretch: Stretch) -> Iterator[object]:
    entry = stretch.entry
    if not isinstance(entry, ParquetEntry):
        return  # these were read before DuckDB began
    footer = footer_of(stretch, entry, _read(store, footer_read(entry)))
    for piece in pieces_of(stretch, footer, SCHEMA.names):
        yield piece.rows(_read(store, piece.read))


def _read(store: BlockingStore, wanted: Read) -> Buffer:
    (data,) = store.begin(store.store.get_ranges(wanted.path, [wanted.at])).result()
    return data
