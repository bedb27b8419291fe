"""The metadata store as the rest of Dray sees it: keys, versions, conditions.

The port is the intersection of SQLite, etcd and Oxia, so its rules are worth reading:

*Domain.* Every key lives in one domain, an opaque name. A commit touches one domain only, and a key
must always be named with the same domain. (Oxia: the partition key. etcd and SQLite have room for all.)

*Version.* Positive, given by the store, never given twice to the same key: a key that was
deleted and made anew has a new version. `ABSENT` stands for "there is no such key".

*Order.* Keys are slash-separated UTF-8. A scan covers `start <= key < end` in byte order, among keys
with as many slashes as `start`; both ends must have the same number. (Oxia sorts by slashes first.)

*Commit.* All checks hold and all writes happen at once, or nothing does. A key is written at
most once in a commit. What was committed is durable when `commit` returns, and every later read by
anyone sees it.

*Unknown outcomes.* A commit whose answer was lost is looked up and, if it did not happen, fenced so that
it never will; this is the adapter's work. Only when the store stays out of reach does the caller
see `OutcomeUnknown`, which says neither yes nor no.

*Watch.* Tells which keys changed, never what they hold. The first batch comes at once, and everything
committed after it will be told; read what you need after you have it. Several changes of one key may be
told as one. A batch with `gap` set means changes were missed: read again what you need.

*Session.* Kept alive by the adapter. Its ephemeral keys disappear when it is closed or expires.

Errors are sorted by what the caller must do:

    MetaError
    ├── Unavailable       nothing happened; try again later
    ├── OutcomeUnknown    it may or may not have happened; read, then decide
    ├── SessionExpired    nothing happened; open a new session
    ├── CommitTooLarge    nothing happened; make it smaller
    └── StoreUnusable     nothing will happen until a person mends it
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, NewType, Protocol

import msgspec

Domain = NewType("Domain", str)
Version = NewType("Version", int)
SessionId = NewType("SessionId", str)
Position = NewType("Position", int)
"""A place in a domain's stream of changes; only good for resuming a watch of that domain."""

ABSENT: Final = Version(0)


class MetaError(Exception):
    """A metadata store did not do what was asked."""


class Unavailable(MetaError):
    """The store could not be reached or would not answer; nothing was changed."""


class OutcomeUnknown(MetaError):
    """A commit was sent and the store stayed out of reach; it may or may not have been applied."""


class SessionExpired(MetaError):
    """The session is gone, with its ephemeral keys; nothing was changed by this call."""


class CommitTooLarge(MetaError):
    """The store takes no commit of this size; nothing was changed."""


class StoreUnusable(MetaError):
    """The store cannot be used as it is, and trying again will not help; the message says what to do."""


class Entry(msgspec.Struct, frozen=True):
    """A key as it was read."""

    key: str
    value: bytes
    version: Version


class Check(msgspec.Struct, frozen=True):
    """The commit happens only if `key` has this version (`ABSENT`: does not exist)."""

    key: str
    version: Version


class Put(msgspec.Struct, frozen=True):
    """Set `key`, whether or not it exists; with a session, it disappears with that session."""

    key: str
    value: bytes
    session: SessionId | None = None


class Delete(msgspec.Struct, frozen=True):
    """Remove `key`; a key that is not there is no fault."""

    key: str


Write = Put | Delete


@dataclass(frozen=True, slots=True)
class Versions:
    """The commit happened: a version for each write, in order (`ABSENT` for a delete)."""

    of: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The commit did not happen: these checks (at least) did not hold."""

    keys: tuple[str, ...]


class Change(msgspec.Struct, frozen=True):
    """A key was put (`version` is its new one) or deleted (`ABSENT`)."""

    key: str
    version: Version


@dataclass(frozen=True, slots=True)
class ChangeBatch:
    """Changes up to `position`, in order; with `gap`, others were missed before them."""

    position: Position
    changes: tuple[Change, ...] = ()
    gap: bool = False


class Session(Protocol):
    """The life of one process as the store sees it."""

    @property
    def id(self) -> SessionId: ...

    @property
    def alive(self) -> bool:
        """Whether this process may still act on its ephemeral keys.

        Turns false as soon as the last good keep-alive is older than the session's time to live,
        even when the store has not noticed yet.
        """
        ...

    async def wait_lost(self) -> None:
        """Return once `alive` is false."""
        ...

    async def close(self) -> None:
        """End the session and delete its ephemeral keys. Doing it twice is no fault."""
        ...


class MetaStore(Protocol):
    """The port."""

    async def get(self, domain: Domain, key: str) -> Entry | None: ...

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]: ...

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict: ...

    def watch(
        self, domain: Domain, prefix: str, after: Position | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[ChangeBatch]]:
        """Follow the keys that start with `prefix`, from now on or after a position told earlier."""
        ...

    async def session(self, ttl_ms: int) -> Session: ...

    async def close(self) -> None:
        """Let go of everything held. Calls still under way end with `Unavailable` or `OutcomeUnknown`."""
        ...
