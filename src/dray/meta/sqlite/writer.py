"""The one thread of this process that writes the metadata file.

It waits for a job, takes its turn among the processes, and only then takes the jobs that have gathered: the
longer the wait, the more of them share one transaction and one fsync. Their answers go back to the event loop
in one hop, after the COMMIT.

A COMMIT that failed leaves a doubt; `_resolve` looks for the transaction in a fresh connection, and if it is
not there takes the revision it would have had, so that nothing can bring it back. (After a failed sync the
log may hold a commit that nobody sees; the next successful commit overwrites it.)
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
from dray.meta.sqlite.doubt import find_or_fence
from dray.meta.sqlite.errors import meta_error
from dray.meta.sqlite.jobs import Job, JobQueue
from dray.meta.sqlite.plan import LoggedCommit
from dray.meta.sqlite.requests import Answer
from dray.meta.sqlite.schema import connect, disconnect
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.sqlite.transaction import CommitInDoubt, Served, Stamp, transact
from dray.meta.sqlite.turn import Turn
from dray.runtime import Clock

_RESOLVE_PAUSE_S: Final = 0.1


class Writer:
    """Owns the writing connection and the turn.

    `on_served` is called in the event loop after each group, with the commits that are known to be made.
    """

    def __init__(
        self,
        path: Path,
        turn: Turn,
        settings: SqliteMetaSettings,
        clock: Clock,
        *,
        incarnation: bytes,
        on_served: Callable[[Sequence[LoggedCommit]], None],
    ) -> None:
        self._path = path
        self._turn = turn
        self._settings = settings
        self._clock = clock
        self._incarnation = incarnation
        self._transactions = 0
        self._on_served = on_served
        self._loop = asyncio.get_running_loop()
        self._closing = threading.Event()
        self._db: apsw.Connection | None = None
        self.queue = JobQueue()
        self._thread = threading.Thread(target=self._run, name="dray-meta-writer", daemon=True)

    def start(self, db: apsw.Connection) -> None:
        self._db = db
        self._thread.start()

    def close(self) -> None:
        """Refuse what has not been begun, wait for the rest and let go of the file. Blocks."""
        self._closing.set()
        self._in_loop(partial(_refuse, self.queue.close()))
        self._thread.join(self._settings.wait_ms / 1000)

    def _run(self) -> None:
        try:
            while self.queue.wait():
                jobs, served = self._serve()
                self._in_loop(partial(self._deliver, jobs, served))
        finally:
            self._let_go()
            self._turn.close()
            self._in_loop(partial(_refuse, self.queue.close()))

    def _in_loop(self, call: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # a thread that waited long may find the event loop gone
            self._loop.call_soon_threadsafe(call)

    def _serve(self) -> tuple[list[Job], Served]:
        with self._turn.held():
            jobs = self.queue.take(self._settings.group_commits_max)
            return jobs, self._transact(jobs) if jobs else Served([])

    def _transact(self, jobs: Sequence[Job]) -> Served:
        stamp = self._next_stamp()
        try:
            return transact(self._connection(), [job.request for job in jobs], stamp)
        except CommitInDoubt as doubt:
            return Served(self._resolve(doubt, stamp))
        except apsw.Error as error:
            failure = self._failure(error)
        except MetaError as error:
            failure = error
        self._let_go()
        if len(jobs) > 1 and not isinstance(failure, Unavailable):
            # One of them may be to blame, so each gets a transaction of its own.
            return Served([answer for job in jobs for answer in self._transact([job]).answers])
        return Served([failure] * len(jobs))

    def _resolve(self, doubt: CommitInDoubt, stamp: Stamp) -> list[Answer]:
        failure: Answer = self._failure(doubt.error)
        deadline = self._clock.monotonic() + self._settings.wait_ms / 1000
        while not self._closing.is_set() and self._clock.monotonic() < deadline:
            self._let_go()
            try:
                happened = find_or_fence(self._connection(), doubt, stamp)
            except (apsw.Error, MetaError):
                with self._turn.given_up():
                    self._closing.wait(_RESOLVE_PAUSE_S)
                continue
            return doubt.answers if happened else [failure] * len(doubt.answers)
        unknown = OutcomeUnknown(
            f"COMMIT failed on {self._path} ({doubt.error}) and its outcome could not be found out"
        )
        return [unknown] * len(doubt.answers)

    def _next_stamp(self) -> Stamp:
        self._transactions += 1
        number = self._transactions.to_bytes(8, "big")
        return Stamp(self._incarnation + number, self._clock.now_ms(), self._settings)

    def _connection(self) -> apsw.Connection:
        if self._db is None:
            self._db = connect(self._path, self._settings)
        return self._db

    def _let_go(self) -> None:
        """Close the connection, which rolls back; the next use opens another."""
        if self._db is not None:
            disconnect(self._db)
            self._db = None

    def _failure(self, error: apsw.Error) -> MetaError:
        return meta_error(error, self._path, self._db.system_errno if self._db is not None else 0)

    def _deliver(self, jobs: Sequence[Job], served: Served) -> None:
        for job, answer in zip(jobs, served.answers, strict=True):
            if not job.answer.done():  # its caller was cancelled
                job.answer.set_result(answer)
        self._on_served(served.log)


def _refuse(jobs: Sequence[Job]) -> None:
    for job in jobs:
        if not job.answer.done():
            job.answer.set_result(Unavailable("the metadata store was closed before the commit was begun"))
