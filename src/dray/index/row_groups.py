"""Row groups of a Parquet file inside its index entry: one packed, fixed-width row per group.

A row group is the unit that a reader fetches and decodes. Its row holds the offsets it covers, the location
of its bytes in the file, and its timestamps. Groups are contiguous: a group also covers the offsets without
records between its last record and the first record of the next group.
"""

from bisect import bisect_right
from collections.abc import Iterator
from struct import Struct
from typing import NamedTuple

GROUP_FORMAT = ">QQQIIqq"
_ROW = Struct(GROUP_FORMAT)
GROUP_BYTES = _ROW.size


class GroupRow(NamedTuple):
    """One row group of a file."""

    start_delta: int
    """First offset covered, relative to the entry's start."""
    last_delta: int
    """Offset of the group's last record, relative to the entry's start."""
    position: int
    """Start of the group's bytes in the file."""
    length: int
    record_count: int
    min_timestamp_ms: int
    max_timestamp_ms: int


class GroupRows:
    """Read-only view of an entry's packed groups."""

    __slots__ = ("_packed",)

    def __init__(self, packed: bytes) -> None:
        self._packed = packed

    def __len__(self) -> int:
        return len(self._packed) // GROUP_BYTES

    def __getitem__(self, number: int) -> GroupRow:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return GroupRow._make(_ROW.unpack_from(self._packed, number * GROUP_BYTES))

    def __iter__(self) -> Iterator[GroupRow]:
        return map(GroupRow._make, _ROW.iter_unpack(self._packed))

    def covering(self, delta: int) -> int:
        """Return the number of the group that covers an offset; 0 for an offset before the first group."""
        return max(0, bisect_right(self, delta, key=_start_delta) - 1)


def pack_groups(groups: list[GroupRow]) -> bytes:
    return b"".join(_ROW.pack(*group) for group in groups)


def _start_delta(row: GroupRow) -> int:
    return row.start_delta
