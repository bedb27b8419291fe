"""Limit on the flushes of idle domains, shared by all domains of a broker.

An idle domain flushes its open object immediately, so that a single batch does not wait. With many busy
domains that would mean many small objects, each at the price of a put. So while a few objects of any domains
are in flight, an idle domain gathers batches, until one of those objects is done or until the linger time is
over. Domains that wait are called in the order in which they began to wait.
"""

from collections.abc import Callable
from typing import Final

_AT_ONCE: Final = 4
"""Objects in flight from which on an idle domain waits."""


class Flushes:
    """Counts objects in flight, and calls the domains that wait."""

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
