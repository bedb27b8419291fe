"""The tasks of cleaning, as they travel to the workers, and their answers.

First one task a stream finds the last offset of each key in the dirty stretch and puts them into an object.
Then one task a file reads that object and the file, and writes the file anew without what may go; a file of
which everything stays is not written. The object is deleted when the job is over; should that not come to
pass, the sweep finds it as it finds files that nobody names.
"""

import msgspec

from dray.ids import FileId, StreamId
from dray.index import ParquetEntry
from dray.pipeline.rewrite import Rewritten


class MapTask(msgspec.Struct, frozen=True, tag="map"):
    """Find the last offset of each key in a stretch."""

    stream: StreamId
    entries: tuple[ParquetEntry, ...]
    start_offset: int
    end_offset: int
    seed: bytes
    file_id: FileId
    path: str


class Mapped(msgspec.Struct, frozen=True, tag="mapped"):
    """An object that was written."""

    path: str
    size_bytes: int
    keys: int


class CleanTask(msgspec.Struct, frozen=True, tag="clean"):
    """Write one file anew, if anything in it may go."""

    stream: StreamId
    partition: int
    entry: ParquetEntry
    first_offset: int
    dirty_start: int
    dirty_end: int
    expired: tuple[tuple[int, int], ...]
    """Where tombstones go too, as first offsets and ends."""
    keys: Mapped | None
    """Without it only tombstones go."""
    file_id: FileId
    path: str


class Filtered(msgspec.Struct, frozen=True, tag="filtered"):
    """What became of a file: nothing, or another one; and how many tombstones of the dirty stretch stay."""

    rewritten: Rewritten | None
    tombstones: int
