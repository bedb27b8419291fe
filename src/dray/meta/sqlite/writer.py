"""The writer thread: the only thread of this process that writes the metadata file.

It waits for a request, acquires the write lock among the processes, and only then takes the requests that
have accumulated: the longer the wait, the more of them share one transaction and one fsync (group commit).
The responses go back to the event loop in one hop, after COMMIT.

If COMMIT fails, its outcome is in doubt. The transaction happened if the commit with its first revision has
its id. After a failed sync the WAL may still contain the whole transaction, invisible, and a recovery after a
crash would bring it back; so it is fenced by a commit of our own, which overwrites it. If the fence fails,
the outcome stays in doubt.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import apsw

from dray.meta.port import MetaError, OutcomeUnknown, Unavailable
from dray.meta.sqlite.errors import left_no_commit, meta_error
from dray.meta.sqlite.requests import PendingRequest, RequestQueue, Response
from dray.meta.sqlite.schema import connect, disconnect, rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.sqlite.transaction import CommitInDoubt, Served, Stamp, transact
from dray.meta.sqlite.write_lock import WriteLock
from dray.meta.watching import LoggedCommit
from dray.runtime import Clock

_RESOLVE_PAUSE_S: Final = 0.1


class Writer:
    """Owns the writing connection and the write lock.

    `on_served` is called in the event loop after each group, with the commits that are known to have
    happened.
    """

    def __init__(
        self,
        path: Path,
        write_lock: WriteLock,
        settings: SqliteMetaSettings,
        clock: Clock,
        *,
        incarnation: bytes,
        on_served: Callable[[Sequence[LoggedCommit]], None],
    ) -> None:
        self._path = path
        self._write_lock = write_lock
        self._settings = settings
        self._clock = clock
        self._incarnation = incarnation
        self._transactions = 0
        self._on_served = on_served
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._begun = 0
        self._delivered = 0
        self._in_doubt = False
        self._db: apsw.Connection | None = None
        self.queue = RequestQueue()
        self._thread = threading.Thread(target=self._run, name="dray-meta-writer", daemon=True)

    def start(self, db: apsw.Connection) -> None:
        self._db = db
        self._thread.start()

    @property
    def delivers_soon(self) -> bool:
        """Whether a group is being executed, or was executed and its commits are about to be passed on."""
        return self._begun != self._delivered and not self._in_doubt

    def close(self) -> None:
        """Refuse requests that have not begun, wait for the others and release the file. Blocks."""
        self._closing.set()
        self._in_loop(partial(_refuse, self.queue.close()))
        self._thread.join(self._settings.wait_ms / 1000)

    def _run(self) -> None:
        try:
            while self.queue.wait():
                pending, served = self._serve()
                self._in_loop(partial(self._deliver, pending, served))
        finally:
            self._disconnect()
            self._write_lock.close()
            self._in_loop(partial(_refuse, self.queue.close()))

    def _in_loop(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # after a long wait, the event loop may be closed
            self._loop.call_soon_threadsafe(call)

    def _serve(self) -> tuple[list[PendingRequest], Served]:
        with self._write_lock.held():
            pending = self.queue.take(self._settings.group_commits_max)
            self._begun += 1
            return pending, self._transact(pending) if pending else Served([])

    def _transact(self, pending: Sequence[PendingRequest]) -> Served:
        stamp = self._next_stamp()
        try:
            return transact(self._connection(), [one.request for one in pending], stamp)
        except CommitInDoubt as doubt:
            return Served(self._resolve(doubt, stamp))
        except apsw.Error as error:
            failure = self._failure(error)
        except MetaError as error:
            failure = error
        self._disconnect()
        if len(pending) > 1 and not isinstance(failure, Unavailable):
            # One of them may be the cause, so each gets its own transaction.
            return Served([response for one in pending for response in self._transact([one]).responses])
        return Served([failure] * len(pending))

    def _resolve(self, doubt: CommitInDoubt, stamp: Stamp) -> list[Response]:
        self._in_doubt = True  # for seconds perhaps, in which other processes commit
        try:
            return self._look_up(doubt, stamp)
        finally:
            self._in_doubt = False

    def _look_up(self, doubt: CommitInDoubt, stamp: Stamp) -> list[Response]:
        failure: Response = self._failure(doubt.error)
        deadline = self._clock.monotonic() + self._settings.wait_ms / 1000
        while not self._closing.is_set() and self._clock.monotonic() < deadline:
            self._disconnect()
            try:
                happened = _find_or_fence(self._connection(), doubt, stamp)
            except (apsw.Error, MetaError):
                with self._write_lock.released():
                    self._closing.wait(_RESOLVE_PAUSE_S)
                continue
            return doubt.responses if happened else [failure] * len(doubt.responses)
        unknown = OutcomeUnknown(
            f"COMMIT failed on {self._path} ({doubt.error}), and its outcome could not be determined"
        )
        return [unknown] * len(doubt.responses)

    def _next_stamp(self) -> Stamp:
        self._transactions += 1
        number = self._transactions.to_bytes(8, "big")
        return Stamp(self._incarnation + number, self._clock.now_ms(), self._settings)

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            self._db = connect(self._path, self._settings)
        return self._db

    def _disconnect(self) -> None:
        """Close the connection, which rolls back; the next use opens another one."""
        if self._db is not None:
            disconnect(self._db)
            self._db = None

    def _failure(self, error: apsw.Error) -> MetaError:
        return meta_error(error, self._path, self._db.system_errno if self._db is not None else 0)

    def _deliver(self, pending: Sequence[PendingRequest], served: Served) -> None:
        self._delivered += 1
        for one, response in zip(pending, served.responses, strict=True):
            if not one.response.done():  # its caller was cancelled
                one.response.set_result(response)
        self._on_served(served.log)


def _refuse(pending: Sequence[PendingRequest]) -> None:
    for one in pending:
        if not one.response.done():
            one.response.set_result(Unavailable("the metadata store was closed before the commit began"))


def _find_or_fence(db: apsw.Connection, doubt: CommitInDoubt, stamp: Stamp) -> bool:
    """Return whether the transaction happened; if not, fence it. Raises `apsw.Error` or `OutcomeUnknown`."""
    if doubt.first_revision is None:
        return False
    rows(db, "BEGIN IMMEDIATE")
    happened = _find(db, doubt.first_revision, stamp.transaction_id)
    if happened or left_no_commit(doubt.error):
        rows(db, "ROLLBACK")
    else:
        rows(db, "UPDATE state SET revision = max(revision, ?)", (doubt.first_revision,))
        rows(db, "COMMIT")
    return happened


def _find(db: apsw.Connection, revision: int, transaction_id: bytes) -> bool:
    if rows(db, "SELECT 1 FROM state WHERE forgotten >= ?", (revision,)):
        raise OutcomeUnknown(f"the commits up to revision {revision} have been trimmed in the meantime")
    found = rows(db, "SELECT transaction_id FROM commits WHERE revision = ?", (revision,))
    return found == [(transaction_id,)]
