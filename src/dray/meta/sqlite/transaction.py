"""One transaction of the writer: a group of commits, or one session request.

Whatever goes wrong before COMMIT leaves nothing behind once rolled back. What goes wrong in COMMIT itself is
told apart (`CommitInDoubt`), because SQLite may have written the commit and then failed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from dray.meta.port import ABSENT, Domain, Put, SessionId, Version
from dray.meta.rules import depth
from dray.meta.sqlite.bulk import bulk
from dray.meta.sqlite.history import COMMITS_BETWEEN_TRIMS, encode_changes, trim
from dray.meta.sqlite.plan import (
    GroupPlan,
    LoggedCommit,
    Place,
    checked_places,
    named_sessions,
    plan_group,
)
from dray.meta.sqlite.requests import (
    Answer,
    CommitRequest,
    OpenSession,
    RenewSession,
    Request,
    SessionRequest,
)
from dray.meta.sqlite.schema import SqlRow, rows
from dray.meta.sqlite.settings import SqliteMetaSettings

_VERSIONS = (
    "WITH wanted (d, n, k) AS (VALUES {rows}) SELECT domain, key, version FROM wanted CROSS JOIN entries "
    "ON domain = d AND depth = n AND key = k"
)
_SESSIONS = "SELECT id FROM sessions WHERE id IN (VALUES {rows})"
_PUT = "INSERT OR REPLACE INTO entries (domain, depth, key, value, version, session) VALUES {rows}"
_DELETE = "DELETE FROM entries WHERE (domain, depth, key) IN (VALUES {rows})"
_LOG = "INSERT INTO commits (revision, transaction_id, at_ms, domain, changes) VALUES {rows}"


@dataclass(frozen=True, slots=True)
class Stamp:
    """What marks the commits of one transaction."""

    transaction_id: bytes
    at_ms: int
    settings: SqliteMetaSettings


class Served(NamedTuple):
    """What a transaction did: an answer for each request, and the commits it made."""

    answers: list[Answer]
    log: Sequence[LoggedCommit] = ()


class CommitInDoubt(Exception):
    """COMMIT failed; `answers` are true if the commit at `first_revision` turns out to be there."""

    def __init__(self, error: apsw.Error, answers: list[Answer], first_revision: int | None) -> None:
        super().__init__(str(error))
        self.error = error
        self.answers = answers
        self.first_revision = first_revision
        """None when the transaction logged no commit, so there is nothing to be in doubt about."""


def transact(db: apsw.Connection, requests: Sequence[Request], stamp: Stamp) -> Served:
    """Carry out commits, or one session request.

    Raises `apsw.Error`, after which the caller rolls back, or `CommitInDoubt`.
    """
    rows(db, "BEGIN IMMEDIATE")
    ((revision,),) = rows(db, "SELECT revision FROM state")
    assert isinstance(revision, int)
    commits = [request for request in requests if isinstance(request, CommitRequest)]
    if commits:
        plan = _read_and_plan(db, commits, revision)
        answers: list[Answer] = list(plan.answers)
        _write_entries(db, plan)
        log = plan.log
    else:
        (request,) = requests
        assert not isinstance(request, CommitRequest)
        answer, log = _serve_session(db, request, revision)
        answers = [answer]
    if log:
        _write_log(db, log, stamp)
    try:
        commit(db)
    except apsw.Error as error:
        raise CommitInDoubt(error, answers, log[0].revision if log else None) from error
    return Served(answers, log)


def commit(db: apsw.Connection) -> None:
    rows(db, "COMMIT")


def _read_and_plan(db: apsw.Connection, requests: Sequence[CommitRequest], revision: int) -> GroupPlan:
    places: list[SqlRow] = [(domain, depth(key), key) for domain, key in checked_places(requests)]
    versions: dict[Place, Version] = {}
    for domain, key, version in bulk(db, _VERSIONS, places):
        assert isinstance(domain, str)
        assert isinstance(key, str)
        assert isinstance(version, int)
        versions[Domain(domain), key] = Version(version)
    sessions = {
        SessionId(str(found)) for (found,) in bulk(db, _SESSIONS, [(s,) for s in named_sessions(requests)])
    }
    return plan_group(requests, versions, sessions, revision)


def _write_entries(db: apsw.Connection, plan: GroupPlan) -> None:
    puts: list[SqlRow] = []
    deletes: list[SqlRow] = []
    for (domain, key), (write, version) in plan.final.items():
        if isinstance(write, Put):
            puts.append((domain, depth(key), key, write.value, version, write.session))
        else:
            deletes.append((domain, depth(key), key))
    bulk(db, _PUT, puts)
    bulk(db, _DELETE, deletes)


def _write_log(db: apsw.Connection, log: Sequence[LoggedCommit], stamp: Stamp) -> None:
    logged: list[SqlRow] = [
        (entry.revision, stamp.transaction_id, stamp.at_ms, entry.domain, encode_changes(entry.changes))
        for entry in log
    ]
    bulk(db, _LOG, logged)
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
        rows(db, "UPDATE sessions SET beat = beat + 1 WHERE id = ?", (request.session,))
        return db.changes() > 0, []
    rows(
        db,
        "DELETE FROM sessions WHERE id = ?1 AND beat = coalesce(?2, beat)",
        (request.session, request.beat),
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
