"""The port of the metadata store: keys, versions, conditional commits, watches, sessions.

The port is the intersection of SQLite, etcd and Oxia, with these rules:

*Domain.* Every key lives in one domain, an opaque name. A commit touches one domain only, and a key must
always be used with the same domain. (In Oxia it is the partition key; etcd and SQLite need none.)

*Version.* Positive, assigned by the store, and never assigned twice to the same key: a key that was deleted
and created again has a new version. `ABSENT` means that the key does not exist.

*Order.* Keys are slash-separated UTF-8. A scan covers `start <= key < end` in byte order, among keys with as
many slashes as `start`; both ends must have the same number. (Oxia sorts by slashes first.)

*Commit.* Atomic: all checks hold and all writes are applied, or nothing happens. A commit writes a key at
most once. When `commit` returns, the writes are durable and visible to every later read of any process.

*Unknown outcomes.* The adapter looks up a commit whose response was lost, and fences it if it did not happen,
so that it never will. Only if the store stays unreachable does the caller get `OutcomeUnknown`, which means
neither yes nor no.

*Watch.* Reports which keys changed, not their values. The first batch is immediate, and every change that is
committed after it will be reported: read what you need once you have it. Several changes of one key may be
merged, and a key may be reported that did not change. A batch with `gap` set means that changes were missed:
read again what you need. After `Watch.sync` the reader
knows all changes up to now, for one request instead of one for each key.

*Session.* Kept alive by the adapter. Its ephemeral keys disappear when it is closed or expires.

*Snapshot.* Reads whole domains for a backup, without ephemeral keys. Each domain is read as it was at one
moment, not before the snapshot was opened and not before that of any domain that was read earlier. In SQLite
and etcd this is one moment for all domains; in Oxia domains may be in different shards.

Errors are sorted by what the caller must do:

    MetaError
    ├── Unavailable       nothing happened; retry later
    ├── OutcomeUnknown    it may or may not have happened; read, then decide
    ├── SessionExpired    nothing happened; open a new session
    ├── CommitTooLarge    nothing happened; make it smaller
    └── StoreUnusable     nothing will happen until an operator fixes the store
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, NewType, Protocol

import msgspec

from dray.ids import Domain

Version = NewType("Version", int)
SessionId = NewType("SessionId", str)
Position = NewType("Position", int)
"""A position in a domain's stream of changes, valid only for resuming a watch of that domain."""

ABSENT: Final = Version(0)


class MetaError(Exception):
    """A request to the metadata store failed."""


class Unavailable(MetaError):
    """The store is unreachable or does not respond; nothing was changed."""


class OutcomeUnknown(MetaError):
    """A commit was sent and the store stayed unreachable; it may or may not have been applied."""


class SessionExpired(MetaError):
    """The session has ended, with its ephemeral keys; this call changed nothing."""


class CommitTooLarge(MetaError):
    """The commit exceeds the store's limit; nothing was changed."""


class StoreUnusable(MetaError):
    """The store cannot be used, and a retry will not help; the message says what to do."""


class Entry(msgspec.Struct, frozen=True):
    """A key with its value and version."""

    key: str
    value: bytes
    version: Version


class Check(msgspec.Struct, frozen=True):
    """A condition of a commit: `key` has this version (`ABSENT`: it does not exist)."""

    key: str
    version: Version


class Put(msgspec.Struct, frozen=True):
    """Set `key`, whether or not it exists. With a session, the key is ephemeral."""

    key: str
    value: bytes
    session: SessionId | None = None


class Delete(msgspec.Struct, frozen=True):
    """Remove `key`, whether or not it exists."""

    key: str


Write = Put | Delete


@dataclass(frozen=True, slots=True)
class Versions:
    """The commit happened: a version for each write, in order (`ABSENT` for a delete)."""

    of: tuple[Version, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """The commit did not happen: at least these checks failed."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommitLimits:
    """What one commit of a store may contain; `rules.commit_bytes` measures it."""

    checks_max: int
    writes_max: int
    bytes_max: int


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


class Watch(Protocol):
    """The batches of one watch, in order; another one is ready when there are changes."""

    def __aiter__(self) -> AsyncIterator[ChangeBatch]: ...

    async def __anext__(self) -> ChangeBatch: ...

    async def sync(self) -> bool:
        """Wait until the reader has handled every change that was committed before this call.

        The reader has handled a batch when it asks for the next one. Returns false if the store does not know
        this, or if the watch has ended; raises `MetaError` if the store does not respond.
        """
        ...


class Session(Protocol):
    """A lease of one process; its ephemeral keys exist as long as it does."""

    @property
    def id(self) -> SessionId: ...

    @property
    def alive(self) -> bool:
        """Whether this process may still act on its ephemeral keys.

        False as soon as the last successful renewal is older than the session's time to live, even if the
        session has not expired in the store yet.
        """
        ...

    async def wait_lost(self) -> None:
        """Return once `alive` is false."""
        ...

    async def close(self) -> None:
        """End the session and delete its ephemeral keys; idempotent."""
        ...


class Snapshot(Protocol):
    """The keys of the store, valid inside the context that `MetaStore.snapshot` returns."""

    @property
    def position(self) -> int | None:
        """A number that grows with every commit of the store; None if the store has no such number."""
        ...

    def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        """Yield all keys of a domain except ephemeral ones, in pages that are never empty."""
        ...


class MetaStore(Protocol):
    """A metadata store."""

    @property
    def limits(self) -> CommitLimits:
        """Limits of a commit; `commit` raises `CommitTooLarge` for a larger one without sending it."""
        ...

    async def get(self, domain: Domain, key: str) -> Entry | None: ...

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]: ...

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict: ...

    def watch(
        self, domain: Domain, prefix: str, after: Position | None = None
    ) -> AbstractAsyncContextManager[Watch]:
        """Watch the keys that start with `prefix`, from now on or from an earlier position."""
        ...

    async def session(self, ttl_ms: int) -> Session: ...

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]: ...

    async def close(self) -> None:
        """Release all resources. Pending calls end with `Unavailable` or `OutcomeUnknown`."""
        ...
