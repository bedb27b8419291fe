"""One transaction of the writer: a group of commits, or one session request.

An error before COMMIT leaves nothing behind after a rollback. An error of COMMIT itself is a `CommitInDoubt`,
because SQLite may have written the commit before it failed.

Each call of SQLite releases the interpreter lock and must acquire it again, which can take milliseconds while
the event loop is busy. So a transaction makes few calls: one for up to `_ROWS_AT_ONCE` rows. The statement
for each number of rows is built once, and connections cache enough prepared statements (`schema.connect`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Final, NamedTuple, cast

import apsw

from dray.ids import Domain
from dray.meta.port import ABSENT, Put, SessionId, Version
from dray.meta.rules import depth
from dray.meta.sqlite.history import COMMITS_BETWEEN_TRIMS, encode_changes, trim
from dray.meta.sqlite.plan import GroupPlan, Versioned, checked_keys, named_sessions, plan_group
from dray.meta.sqlite.requests import (
    CommitRequest,
    OpenSession,
    RenewSession,
    Request,
    Response,
    SessionRequest,
)
from dray.meta.sqlite.schema import SqlRow, rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.watching import LoggedCommit

_VERSIONS = (
    "WITH wanted (d, n, k) AS (VALUES {rows}) SELECT key, version FROM wanted CROSS JOIN entries "
    "ON domain = d AND depth = n AND key = k"
)
_SESSIONS = "SELECT id FROM sessions WHERE id IN (VALUES {rows})"
_PUT = "INSERT OR REPLACE INTO entries (domain, depth, key, value, version, session) VALUES {rows}"
_DELETE = "DELETE FROM entries WHERE (domain, depth, key) IN (VALUES {rows})"
_ROWS_AT_ONCE: Final = 64
_STATEMENTS_MAX: Final = 1_000
_LOG = "INSERT INTO commits (revision, transaction_id, at_ms, domain, changes) VALUES {rows}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """Data that is stored with all commits of one transaction."""

    transaction_id: bytes
    at_ms: int
    settings: SqliteMetaSettings


class Served(NamedTuple):
    """The result of a transaction: a response for each request, and the commits that it made."""

    responses: list[Response]
    log: Sequence[LoggedCommit] = ()


class CommitInDoubt(Exception):
    """COMMIT failed; `responses` are valid if the commit at `first_revision` turns out to exist."""

    def __init__(self, error: apsw.Error, responses: list[Response], first_revision: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.responses = responses
        self.first_revision = first_revision
        """None if the transaction logged no commit, so that there is no doubt."""


def transact(db: apsw.Connection, requests: Sequence[Request], stamp: Stamp) -> Served:
    """Execute commits, or one session request.

    Raises `apsw.Error`, after which the caller rolls back, or `CommitInDoubt`.
    """
    rows(db, "BEGIN IMMEDIATE")
    ((revision,),) = rows(db, "SELECT revision FROM state")
    assert isinstance(revision, int)
    commits = [request for request in requests if isinstance(request, CommitRequest)]
    if commits:
        plan = _read_and_plan(db, commits, revision)
        responses: list[Response] = list(plan.responses)
        _write_entries(db, plan)
        log = plan.log
    else:
        (request,) = requests
        assert not isinstance(request, CommitRequest)
        response, log = _serve_session(db, request, revision)
        responses = [response]
    if log:
        _write_log(db, log, stamp)
    try:
        commit(db)
    except apsw.Error as error:
        raise CommitInDoubt(error, responses, log[0].revision if log else None) from error
    return Served(responses, log)


def commit(db: apsw.Connection) -> None:
    rows(db, "COMMIT")


def _read_and_plan(db: apsw.Connection, requests: Sequence[CommitRequest], revision: int) -> GroupPlan:
    versions: dict[Domain, Versioned] = {}
    for domain, keys in checked_keys(requests).items():
        places: list[SqlRow] = [(domain, depth(key), key) for key in keys]
        versions[domain] = dict(cast("list[tuple[str, Version]]", _execute(db, _VERSIONS, places)))
    sessions = {
        SessionId(str(found))
        for (found,) in _execute(db, _SESSIONS, [(s,) for s in named_sessions(requests)])
    }
    return plan_group(requests, versions, sessions, revision)


def _write_entries(db: apsw.Connection, plan: GroupPlan) -> None:
    puts: list[SqlRow] = []
    deletes: list[SqlRow] = []
    for domain, final in plan.final.items():
        for key, (write, version) in final.items():
            if isinstance(write, Put):
                puts.append((domain, depth(key), key, write.value, version, write.session))
            else:
                deletes.append((domain, depth(key), key))
    _execute(db, _PUT, puts)
    _execute(db, _DELETE, deletes)


def _write_log(db: apsw.Connection, log: Sequence[LoggedCommit], stamp: Stamp) -> None:
    logged: list[SqlRow] = [
        (entry.revision, stamp.transaction_id, stamp.at_ms, entry.domain, encode_changes(entry.changes))
        for entry in log
    ]
    _execute(db, _LOG, logged)
    rows(db, "UPDATE state SET revision = ?", (log[-1].revision,))
    if log[-1].revision // COMMITS_BETWEEN_TRIMS > (log[0].revision - 1) // COMMITS_BETWEEN_TRIMS:
        trim(db, stamp.at_ms, stamp.settings)


def _serve_session(
    db: apsw.Connection, request: SessionRequest, revision: int
) -> tuple[bool, list[LoggedCommit]]:
    if isinstance(request, OpenSession):
        rows(db, "INSERT OR IGNORE INTO sessions VALUES (?, ?, 0)", (request.session, request.ttl_ms))
        return True, []
    if isinstance(request, RenewSession):
        rows(db, "UPDATE sessions SET heartbeats = heartbeats + 1 WHERE id = ?", (request.session,))
        return db.changes() > 0, []
    rows(
        db,
        "DELETE FROM sessions WHERE id = ?1 AND heartbeats = coalesce(?2, heartbeats)",
        (request.session, request.heartbeats),
    )
    return True, _delete_ephemeral(db, request.session, revision) if db.changes() else []


def _delete_ephemeral(db: apsw.Connection, session: SessionId, revision: int) -> list[LoggedCommit]:
    owned: dict[Domain, list[tuple[str, Version]]] = {}
    for domain, key in rows(db, "SELECT domain, key FROM entries WHERE session = ?", (session,)):
        owned.setdefault(Domain(str(domain)), []).append((str(key), ABSENT))
    rows(db, "DELETE FROM entries WHERE session = ?", (session,))
    return [
        LoggedCommit(number, domain, tuple(changes))
        for number, (domain, changes) in enumerate(owned.items(), revision + 1)
    ]


def _execute(db: apsw.Connection, sql: str, given: Sequence[SqlRow]) -> list[SqlRow]:
    """Run `sql` for all given rows; its `{rows}` becomes `(?, ...), (?, ...)`."""
    found: list[SqlRow] = []
    for at in range(0, len(given), _ROWS_AT_ONCE):
        bunch = given[at : at + _ROWS_AT_ONCE]
        statement = _statement(sql, len(bunch), len(bunch[0]))
        found += db.execute(statement, tuple(chain.from_iterable(bunch))).fetchall()
    return found


@lru_cache(maxsize=_STATEMENTS_MAX)
def _statement(sql: str, rows: int, columns: int) -> str:
    marks = "(" + ", ".join("?" * columns) + ")"
    return sql.format(rows=", ".join([marks] * rows))
