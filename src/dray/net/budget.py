"""Memory for requests: how much each connection may use, and which ones wait for more.

A request uses memory from its first byte until it is answered. Most of the broker's limit is *shared*, first
come, first served. The rest is *reserved*: it is divided evenly among the open connections, so that each has
its share whatever the others use. However many connections there are, each may use `CONNECTION_BYTES_MIN`,
which is enough for every request that carries no records.

So a connection without requests can always receive one that fits its share. A larger one has to *claim*
memory: its buffer is allocated, or grown, only when the claim is granted. Claims are granted in order, and
while one waits no other connection gets shared memory. Connections without a claim are *paused* while no
shared memory is left: they are not read.

Complete requests will be answered, so their memory will be free again; partial ones may never be completed.
If those alone leave no memory for the first claim, it is granted beyond the limit, one at a time. Memory is
therefore bounded by the limit, the minimum of every connection, and one request of the largest size.

Plain code, except that waiting connections are resumed from the event loop: memory is freed in the middle of
other work.
"""

import asyncio
from typing import Final, Protocol

CONNECTION_BYTES_MIN: Final = 16 * 1024
_RESERVED_DIVISOR: Final = 4
"""A quarter of the limit is reserved."""
_STEP_BYTES: Final = 1 << 20
"""More than a connection uses in one step; for each such piece of free memory one is resumed."""


class Member(Protocol):
    """The memory of one connection, as the broker sees it."""

    is_over_limit: bool
    """Whether it was granted memory beyond the limit."""

    @property
    def used(self) -> int: ...

    def resume(self) -> bool:
        """Resume reading if there is memory now; returns whether there is."""
        ...


class BrokerBudget:
    """The memory of all connections."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reserved = limit // _RESERVED_DIVISOR
        self._shared = limit - self._reserved
        self._open = 0
        self._over_limit: Member | None = None
        self._claims: dict[Member, None] = {}
        self._paused: dict[Member, None] = {}
        self._resume_is_scheduled = False
        self.used = 0
        self.partial = 0
        """How much of that is used by partial requests."""

    @property
    def waiting(self) -> int:
        """How many connections are not read because there is no memory."""
        return len(self._claims) + len(self._paused)

    @property
    def is_blocked(self) -> bool:
        """Whether connections wait because of requests that are not completed."""
        return self.waiting > 0 and self.partial >= self._reserved

    def open(self) -> None:
        """Count one more connection."""
        self._open += 1

    def close(self, connection: Member) -> None:
        """Forget a connection that uses nothing any more."""
        self._open -= 1
        self._claims.pop(connection, None)
        self._paused.pop(connection, None)
        if self._over_limit is connection:
            self._over_limit = None
        self._memory_freed()

    def available(self, connection: Member) -> int:
        """Return how many more bytes a connection may use; may be negative."""
        shared = self._shared - self.used
        if self._claims and not self._is_first(connection):
            shared = 0
        if shared >= _STEP_BYTES:
            return shared
        used = connection.used
        share = min(self._limit - self.used, self._reserved // max(self._open, 1) - used)
        return max(shared, share, CONNECTION_BYTES_MIN - used)

    def use(self, change: int, *, partial: int = 0) -> None:
        """Count a change of the memory in use, and of the part that partial requests use."""
        self.used += change
        self.partial += partial
        if change < 0 and (self._claims or self._paused or self._over_limit):
            self._memory_freed()

    def grant(self, connection: Member, more: int) -> bool:
        """Grant a claim if there is memory, or if nothing could ever make progress without it."""
        granted = more <= self.available(connection)
        if not granted and self._may_exceed_limit(connection, more):
            self._over_limit, connection.is_over_limit = connection, True
            granted = True
        if granted:
            self._claims.pop(connection, None)
        return granted

    def queue_claim(self, connection: Member) -> None:
        """Resume the connection until it has its claim granted, after those before it."""
        self._claims.setdefault(connection)

    def pause(self, connection: Member) -> None:
        """Resume the connection once, when there is shared memory."""
        self._paused.setdefault(connection)

    def _is_first(self, connection: Member) -> bool:
        return next(iter(self._claims)) is connection

    def _may_exceed_limit(self, connection: Member, more: int) -> bool:
        """Whether there would be no memory even if all complete requests were answered."""
        if self._over_limit is not None:
            return connection.is_over_limit
        is_first = not self._claims or self._is_first(connection)
        return is_first and self.partial + more > self._shared

    def _memory_freed(self) -> None:
        if self._over_limit is not None and self._over_limit.used <= CONNECTION_BYTES_MIN:
            self._over_limit = None
        if self.waiting and not self._resume_is_scheduled:
            self._resume_is_scheduled = True
            asyncio.get_running_loop().call_soon(self._resume)

    def _resume(self) -> None:
        self._resume_is_scheduled = False
        while self._claims:
            first = next(iter(self._claims))
            if not first.resume():
                return
            self._claims.pop(first, None)
        self._resume_paused()

    def _resume_paused(self) -> None:
        """Resume as many as there is memory for; the others follow when these have read."""
        free = self._shared - self.used
        if not self._paused or free <= 0:
            return
        for connection in list(self._paused)[: 1 + free // _STEP_BYTES]:
            del self._paused[connection]
            connection.resume()
        self._memory_freed()
