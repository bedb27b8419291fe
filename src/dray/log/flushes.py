"""Flushes in flight of all domains of a broker.

A domain that is idle flushes at once what it is given, so that a lone batch does not wait. With many busy
domains that would mean many small objects, each with the price of a put: each domain has its own, however
little arrives for it. So at most a few idle domains flush at once; the others gather batches until one of
those has ended, in order, or until they have lingered.
"""

from collections.abc import Callable
from typing import Final

_AT_ONCE: Final = 4
"""As many are in flight before an idle domain waits."""


class Flushes:
    """Counts flushes, and calls the domains that wait."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._waiting: dict[Callable[[], None], None] = {}

    def may_begin(self, retry: Callable[[], None]) -> bool:
        """Return whether an idle domain may flush; if not, `retry` is called once when it may try again."""
        if self._in_flight < _AT_ONCE:
            return True
        self._waiting.setdefault(retry)
        return False

    def begun(self) -> None:
        self._in_flight += 1

    def ended(self) -> None:
        self._in_flight -= 1
        while self._waiting and self._in_flight < _AT_ONCE:
            retry = next(iter(self._waiting))
            del self._waiting[retry]
            retry()
