"""Requests to the writer thread, and their queue.

A request belongs to the event loop until the writer takes it. Until then it can be withdrawn, and then it has
certainly not been executed and never will be.
"""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass

from dray.ids import Domain
from dray.meta.port import Check, Conflict, MetaError, SessionId, Unavailable, Versions, Write


@dataclass(frozen=True, slots=True)
class CommitRequest:
    """A commit of the port. Response: `Versions`, `Conflict`, or an error to raise."""

    domain: Domain
    checks: tuple[Check, ...]
    writes: tuple[Write, ...]


@dataclass(frozen=True, slots=True)
class OpenSession:
    """Response: True."""

    session: SessionId
    ttl_ms: int


@dataclass(frozen=True, slots=True)
class RenewSession:
    """Response: whether the session still exists."""

    session: SessionId


@dataclass(frozen=True, slots=True)
class EndSession:
    """Delete the session and its keys; with `heartbeats`, only if not renewed since. Response: True."""

    session: SessionId
    heartbeats: int | None = None


SessionRequest = OpenSession | RenewSession | EndSession
Request = CommitRequest | SessionRequest
Response = Versions | Conflict | MetaError | bool


@dataclass(frozen=True, slots=True, eq=False)
class PendingRequest:
    """A request, and the future that its caller awaits."""

    request: Request
    response: asyncio.Future[Response]


class RequestQueue:
    """Pending requests, first in, first out."""

    def __init__(self) -> None:
        self._pending: deque[PendingRequest] = deque()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, pending: PendingRequest) -> None:
        with self._changed:
            if self._closed:
                raise Unavailable("the metadata store is closed")
            self._pending.append(pending)
            self._changed.notify()

    def withdraw(self, pending: PendingRequest) -> bool:
        """Remove a request; false if the writer has taken it."""
        with self._changed:
            found = pending in self._pending
            if found:
                self._pending.remove(pending)
            return found

    def wait(self) -> bool:
        """Block until there is a request; false once the queue is closed and empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._closed)
            return bool(self._pending)

    def take(self, at_most: int) -> list[PendingRequest]:
        """Remove the next requests that can share a transaction: several commits, or one of another kind."""
        with self._changed:
            taken: list[PendingRequest] = []
            while self._pending and len(taken) < at_most:
                is_commit = isinstance(self._pending[0].request, CommitRequest)
                if taken and not is_commit:
                    break
                taken.append(self._pending.popleft())
                if not is_commit:
                    break
            return taken

    def close(self) -> list[PendingRequest]:
        """Refuse further requests, and return those that the writer has not taken."""
        with self._changed:
            self._closed = True
            left = list(self._pending)
            self._pending.clear()
            self._changed.notify()
            return left
