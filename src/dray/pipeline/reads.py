"""How code that does not await asks for bytes: ranges of objects, one after the other."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from typing_extensions import Buffer

from dray.objects.port import ByteRange

ReadRanges = Callable[[str, Sequence[ByteRange]], Sequence[Buffer]]


class Read(NamedTuple):
    """A range of an object that is going to be read."""

    path: str
    at: ByteRange
