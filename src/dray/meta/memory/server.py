"""The memory server: the state of a metadata store as synchronous code.

Every method is one request, executed atomically. The server has one revision counter, which is the version of
what a commit wrote and the position of its changes. It keeps the outcome of every commit by the commit's id:
an id is committed once, or fenced and then never. Expired sessions are ended by the next request;
`next_expiry` is when a watcher should send one.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from dray.ids import Domain
from dray.meta.memory.domain import DomainState
from dray.meta.port import (
    ChangeBatch,
    Check,
    Conflict,
    Delete,
    Entry,
    Position,
    Put,
    SessionExpired,
    SessionId,
    Version,
    Versions,
    Write,
)
from dray.runtime import Clock

CommitId = str
Outcome = Versions | Literal["fenced"]


class CommitRefused(Exception):
    """The commit's id was used or fenced before; nothing happened. No caller waits for this response."""


@dataclass(slots=True)
class _Lease:
    ttl_s: float
    expires_at: float


class MemoryMetaServer:
    """The shared state of all clients; watchers can catch up on `history_max` commits per domain."""

    def __init__(self, clock: Clock, *, history_max: int = 10_000, outcomes_kept_s: float = 600.0) -> None:
        self._clock = clock
        self._history_max = history_max
        self._outcomes_kept_s = outcomes_kept_s
        self._clients = 0
        self._revision = 0
        self._domains: dict[Domain, DomainState] = {}
        self._leases: dict[SessionId, _Lease] = {}
        self._outcomes: dict[CommitId, tuple[Outcome, float]] = {}
        self._watchers: dict[asyncio.Event, None] = {}

    def new_client(self) -> int:
        """Return a unique number of the client, from which it derives ids that are unique for any seed."""
        self._clients += 1
        return self._clients

    def get(self, domain: Domain, key: str) -> Entry | None:
        self._end_expired()
        return self._domain(domain).get(key)

    def scan(self, domain: Domain, start: str, end: str, limit: int | None, *, reverse: bool) -> list[Entry]:
        self._end_expired()
        return self._domain(domain).scan(start, end, limit, reverse=reverse)

    def all_lasting(self) -> tuple[int, dict[Domain, list[Entry]]]:
        """Return the revision, and the keys of each domain without the ephemeral ones."""
        self._end_expired()
        return self._revision, {domain: state.lasting() for domain, state in self._domains.items()}

    def commit(
        self, commit_id: CommitId, domain: Domain, checks: tuple[Check, ...], writes: tuple[Write, ...]
    ) -> Versions | Conflict:
        self._end_expired()
        if commit_id in self._outcomes:
            raise CommitRefused(commit_id)
        self._require_sessions(writes)
        state = self._domain(domain)
        failed = tuple(check.key for check in checks if state.version(check.key) != check.version)
        if failed:
            return Conflict(failed)
        versions = Versions(self._apply(state, writes))
        self._remember(commit_id, versions)
        return versions

    def fence(self, commit_id: CommitId) -> Outcome:
        """Return the outcome of a commit; one that has not happened yet never will."""
        if commit_id not in self._outcomes:
            self._remember(commit_id, "fenced")
        return self._outcomes[commit_id][0]

    def no_changes(self) -> ChangeBatch:
        """Return an empty batch at the current position."""
        self._end_expired()
        return ChangeBatch(Position(self._revision))

    def changes(self, domain: Domain, prefix: str, after: Position) -> ChangeBatch:
        self._end_expired()
        return self._domain(domain).changes(prefix, after, self._revision)

    @contextmanager
    def woken(self) -> Iterator[asyncio.Event]:
        """Return an event that is set after every change."""
        event = asyncio.Event()
        self._watchers[event] = None
        try:
            yield event
        finally:
            del self._watchers[event]

    def next_expiry(self) -> float | None:
        """Return in how many seconds the next session expires if it is not renewed."""
        if not self._leases:
            return None
        return max(0.0, min(lease.expires_at for lease in self._leases.values()) - self._clock.monotonic())

    def open_session(self, session: SessionId, ttl_ms: int) -> None:
        ttl_s = ttl_ms / 1000
        self._leases.setdefault(session, _Lease(ttl_s, self._clock.monotonic() + ttl_s))

    def renew_session(self, session: SessionId) -> bool:
        self._end_expired()
        lease = self._leases.get(session)
        if lease is not None:
            lease.expires_at = self._clock.monotonic() + lease.ttl_s
        return lease is not None

    def end_session(self, session: SessionId) -> None:
        if self._leases.pop(session, None) is None:
            return
        for state in self._domains.values():
            self._apply(state, tuple(Delete(key) for key in state.owned_by(session)))

    def restart_sessions(self, delay_s: float) -> None:
        """Let every session live for its full time, beginning after a delay, as an elected leader does."""
        self._end_expired()
        for lease in self._leases.values():
            lease.expires_at = self._clock.monotonic() + delay_s + lease.ttl_s

    def forget_changes(self) -> None:
        """Drop the whole history, so that every watcher that lags gets a gap; for tests."""
        for state in self._domains.values():
            state.forget_changes(self._revision)

    def _domain(self, domain: Domain) -> DomainState:
        return self._domains.setdefault(domain, DomainState(self._history_max))

    def _apply(self, state: DomainState, writes: tuple[Write, ...]) -> tuple[Version, ...]:
        if not writes:
            return ()
        self._revision += 1
        versions = state.apply(self._revision, writes)
        for event in self._watchers:
            event.set()
        return versions

    def _require_sessions(self, writes: tuple[Write, ...]) -> None:
        for write in writes:
            if isinstance(write, Put) and write.session is not None and write.session not in self._leases:
                raise SessionExpired(
                    f"session {write.session} has ended; open a new one to put {write.key!r}"
                )

    def _end_expired(self) -> None:
        now = self._clock.monotonic()
        for session in [session for session, lease in self._leases.items() if lease.expires_at <= now]:
            self.end_session(session)

    def _remember(self, commit_id: CommitId, outcome: Outcome) -> None:
        now = self._clock.monotonic()
        self._outcomes[commit_id] = (outcome, now)
        while next(iter(self._outcomes.values()))[1] < now - self._outcomes_kept_s:
            del self._outcomes[next(iter(self._outcomes))]
