"""Limit on the flushes of idle domains, shared by all domains of a broker.

An idle domain flushes its open object immediately, so that a single batch does not wait. With many busy
domains or streams that would mean many small objects, each at the price of a put and a commit. So an idle
domain gathers batches

- while a few objects of any domains are in flight, and
- while small batches of many streams keep coming: until there is a pause, because the clients wait for their
  acknowledgements or have no more to send. A pause is longer where more domains then flush, and where the
  gaps between batches are longer.

It never waits longer than it lingers: twice as long while an object is still small, as in many domains of
which each gets a few of the batches. Domains that wait are called in the order in which they began to wait.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

_AT_ONCE: Final = 4
"""Objects in flight from which on an idle domain waits."""
_MANY_STREAMS: Final = 16
"""Small chunks in open objects from which on it pays to gather more of them."""
_PAUSE_S: Final = 0.002
"""The shortest pause, for each domain that has batches."""
_PAUSE_GAPS: Final = 8
"""Mean gaps between batches: at a steady rate a longer one is very rare."""
_PAUSE_MAX_S: Final = 0.010
_LINGERS_PER_DOMAIN: Final = 2
_LINGERS_MAX: Final = 5
_FEW_CHUNKS: Final = 64
"""With fewer small chunks, the object itself is a large part of the cost."""
_TIMES_FOR_FEW: Final = 2


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
        self._gathered = 0
        self._gathered_s = 0.0

    def join(self, open_object: OpenObject) -> None:
        """Add a domain."""
        self._open.append(open_object)

    def may_begin(self, retry: Callable[[], None]) -> bool:
        """Return whether an idle domain may flush; if not, `retry` is called once when it may try again."""
        if self._in_flight < _AT_ONCE and not self._gathers():
            return True
        self._waiting.setdefault(retry)
        return False

    def lingers(self, small_chunks: int) -> int:
        """Return how many times its linger time an object may wait: more, if many are gathered at once."""
        if not self._gathers():
            return 1
        lingers = min(1 + _LINGERS_PER_DOMAIN * self._busy_domains(), _LINGERS_MAX)
        return _TIMES_FOR_FEW * lingers if small_chunks < _FEW_CHUNKS else lingers

    @property
    def holds_many(self) -> bool:
        """Whether the open objects hold small batches of many streams."""
        return sum([one.small_chunks for one in self._open]) >= _MANY_STREAMS

    def begun(self) -> None:
        self._in_flight += 1

    def ended(self) -> None:
        self._in_flight -= 1
        self._call_waiting()

    def _gathers(self) -> bool:
        """Return whether batches of many streams are being gathered, which may begin now."""
        if not self._gathering and self.holds_many:
            self._gathered, self._gathered_s = 0, 0.0
            self._gather(self._come())
        return self._gathering

    def _gather(self, come: int) -> None:
        """Begin or continue to gather if batches have come since the last look."""
        self._gathering = come > 0
        if self._gathering:
            pause_s = self._pause_s()
            self._gathered_s += pause_s
            asyncio.get_running_loop().call_later(pause_s, self._continue)

    def _continue(self) -> None:
        """Keep gathering if batches have come since the last look and a domain waits for more."""
        come = self._come()
        self._gathered += come
        self._gather(come if self._waiting else 0)
        if not self._gathering:
            self._call_waiting()

    def _pause_s(self) -> float:
        """Return how long no batch must come for gathering to end."""
        gap_s = self._gathered_s / self._gathered if self._gathered else 0.0
        return min(max(_PAUSE_S * self._busy_domains(), _PAUSE_GAPS * gap_s, _PAUSE_S), _PAUSE_MAX_S)

    def _busy_domains(self) -> int:
        return sum([1 for one in self._open if one.small_chunks])

    def _come(self) -> int:
        """Return how many batches have come since the last call."""
        before, self._taken = self._taken, sum([one.taken for one in self._open])
        return self._taken - before

    def _call_waiting(self) -> None:
        while self._waiting and self._in_flight < _AT_ONCE and not self._gathering:
            retry = next(iter(self._waiting))
            del self._waiting[retry]
            retry()
