"""A stretch of a stream with its batches at hand, wherever they came from."""

from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from dray.index import BatchRow


class Rows(Protocol):
    """The batches of a stretch, in the order of their offsets."""

    def reaching(self, delta: int) -> Iterator[BatchRow]:
        """Return the rows from the first on whose last offset is not before `delta`."""
        ...


class Opened(NamedTuple):
    """Every record of `[start_offset, end_offset)`; there may be offsets without one, also at the end."""

    start_offset: int
    """What the rows' deltas count from."""
    end_offset: int
    rows: Rows
    batch_of: Callable[[BatchRow], memoryview]
