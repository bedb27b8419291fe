"""Distinction between objects that exist but cannot be read, and a store that cannot be used.

A bad sector, a forbidden file, an archived object and one whose encryption key is lost are reported as an
unusable store is. The cluster's mark decides which it is: it lies in the same store and is never deleted, so
while it can be read, only the object is affected.
"""

from collections.abc import Sequence
from typing import Final

from typing_extensions import Buffer

from dray.cluster.identity_plan import MARK_PATH
from dray.objects.port import AlreadyExists, ByteRange, ObjectError, StoreUnusable
from dray.scan.ranges import ReadRanges

_PROBE: Final = (ByteRange(0, 1),)
_PERMANENT: Final = (
    StoreUnusable,
    AlreadyExists,  # from Azure, which responds to reads of an archived object with a conflict
)


class ObjectUnreadable(ObjectError):
    """This object cannot be read, and a retry will not help; other objects of the store can be read."""


def with_probe(read: ReadRanges) -> ReadRanges:
    """Raise `ObjectUnreadable` instead of `StoreUnusable` where only the object is affected."""

    def probed(path: str, ranges: Sequence[ByteRange]) -> Sequence[Buffer]:
        try:
            return read(path, ranges)
        except _PERMANENT as error:
            if not _can_read_mark(read):
                raise
            raise ObjectUnreadable(f"the object cannot be read: {error}") from error

    return probed


def _can_read_mark(read: ReadRanges) -> bool:
    try:
        read(MARK_PATH, _PROBE)
    except ObjectError:
        return False
    return True
