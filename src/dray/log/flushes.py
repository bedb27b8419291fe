"""Limit on the flushes of idle domains, shared by all domains of a broker.

An idle domain flushes its open object immediately, so that a single batch does not wait. With many busy
domains or streams that would mean many small objects, each at the price of a put and a commit. So an idle
domain gathers batches

- while a few objects of any domains are in flight, and
- while small batches of many streams keep coming: until none has come for a moment, because the clients wait
  for their acknowledgements or have no more to send.

It never waits longer than it lingers. Domains that wait are called in the order in which they began to wait.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

_AT_ONCE: Final = 4
"""Objects in flight from which on an idle domain waits."""
_MANY_STREAMS: Final = 16
"""Small chunks in open objects from which on it pays to gather more of them."""
_PAUSE_S: Final = 0.002
_LINGERS_PER_DOMAIN: Final = 2
_LINGERS_MAX: Final = 5


class OpenObject(Protocol):
    """The open object of a domain."""

    @property
    def small_chunks(self) -> int:
        """How many streams it holds if they have few bytes each, otherwise 0."""
        ...

    @property
    def taken(self) -> int:
        """How many batches the domain has taken so far, sealed ones included."""
        ...


class Flushes:
    """Counts objects in flight, and calls the domains that wait."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._open: list[OpenObject] = []
        self._waiting: dict[Callable[[], None], None] = {}
        self._taken = 0
        self._gathering = False

    def join(self, open_object: OpenObject) -> None:
        """Add a domain."""
        self._open.append(open_object)

    def may_begin(self, retry: Callable[[], None]) -> bool:
        """Return whether an idle domain may flush; if not, `retry` is called once when it may try again."""
        if self._in_flight < _AT_ONCE and not self._gathers():
            return True
        self._waiting.setdefault(retry)
        return False

    def lingers(self) -> int:
        """Return how many times its linger time an object may wait: more, if many are gathered at once."""
        if not self._gathering:
            return 1
        domains = sum([1 for one in self._open if one.small_chunks])
        return min(1 + _LINGERS_PER_DOMAIN * domains, _LINGERS_MAX)

    def begun(self) -> None:
        self._in_flight += 1

    def ended(self) -> None:
        self._in_flight -= 1
        self._call_waiting()

    def _gathers(self) -> bool:
        """Return whether batches of many streams are being gathered, which may begin now."""
        if not self._gathering and sum([one.small_chunks for one in self._open]) >= _MANY_STREAMS:
            self._gathering = self._have_come()
            if self._gathering:
                asyncio.get_running_loop().call_later(_PAUSE_S, self._continue)
        return self._gathering

    def _continue(self) -> None:
        """Keep gathering if batches have come since the last look and a domain waits for more."""
        self._gathering = self._have_come() and bool(self._waiting)
        if self._gathering:
            asyncio.get_running_loop().call_later(_PAUSE_S, self._continue)
        else:
            self._call_waiting()

    def _have_come(self) -> bool:
        before, self._taken = self._taken, sum([one.taken for one in self._open])
        return self._taken != before

    def _call_waiting(self) -> None:
        while self._waiting and self._in_flight < _AT_ONCE and not self._gathering:
            retry = next(iter(self._waiting))
            del self._waiting[retry]
            retry()
