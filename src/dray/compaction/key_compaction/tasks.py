"""Tasks of key compaction, as they are sent to the workers, and their results.

First one task per stream finds the last offset of each key in the dirty range and stores this key map as an
object. Then one task per file reads the key map and the file, and rewrites the file without obsolete rows; a
file with none is not written. The key map is deleted at the end of the job; if that fails, the sweep deletes
it as an orphan.
"""

import msgspec

from dray.compaction.rewrite import Rewritten
from dray.ids import FileId, StreamId
from dray.index import ParquetEntry


class KeyMapTask(msgspec.Struct, frozen=True, tag="map"):
    """Find the last offset of each key in a range."""

    stream: StreamId
    entries: tuple[ParquetEntry, ...]
    start_offset: int
    end_offset: int
    seed: bytes
    file_id: FileId
    path: str


class KeyMap(msgspec.Struct, frozen=True, tag="mapped"):
    """A key map in the object store."""

    path: str
    size_bytes: int
    keys: int


class FilterTask(msgspec.Struct, frozen=True, tag="filter"):
    """Rewrite one file without its obsolete rows."""

    stream: StreamId
    partition: int
    entry: ParquetEntry
    first_offset: int
    dirty_start: int
    dirty_end: int
    expired: tuple[tuple[int, int], ...]
    """Ranges whose tombstones have expired, as pairs of start and end offset."""
    keys: KeyMap | None
    """None if only tombstones are removed."""
    file_id: FileId
    path: str


class Filtered(msgspec.Struct, frozen=True, tag="filtered"):
    """Result of a `FilterTask`: the new file, if any row was removed."""

    rewritten: Rewritten | None
    tombstones: int
    """Number of tombstones that are left in the dirty range."""
