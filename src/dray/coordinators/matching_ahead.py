"""A pattern that a member brings is matched before it is the group's turn, name by name.

The group's machine matches all names at once, and a pattern made to be slow takes some 10 ms for each: the
whole broker would stand still. So it is done beforehand in slices, between which others have their turn; the
machine then finds every name in the pattern's book. No honest pattern takes longer than `_PATIENCE_SECONDS`,
not even for a hundred thousand topics; one that does is refused.
"""

from collections.abc import Iterable
from typing import Final

from dray.groups.consumer.patterns import BadPattern, book_of
from dray.runtime import Clock

_SLICE_SECONDS: Final = 0.002
_PATIENCE_SECONDS: Final = 1.0


class TooSlow(Exception):
    """The pattern takes too long to match."""


async def match_ahead(pattern: str, names: Iterable[str], clock: Clock) -> None:
    """Match names by a pattern; raises `TooSlow`. One that cannot be read is for the machine to refuse."""
    try:
        matches = book_of(pattern).matches
    except BadPattern:
        return
    spent, began = 0.0, clock.monotonic()
    for name in tuple(names):
        matches(name)
        passed = clock.monotonic() - began
        if spent + passed > _PATIENCE_SECONDS:
            raise TooSlow(f"it takes more than {_PATIENCE_SECONDS:g} s to match the topics there are")
        if passed > _SLICE_SECONDS:
            await clock.sleep(0)
            spent, began = spent + passed, clock.monotonic()
