"""The metadata file: schema version 2, creation and opening.

    state     one row: the last revision assigned, and the last one whose changes were trimmed
    entries   the keys; `depth` is the number of slashes, so that the primary key has the port's order
    commits   one row per commit: its changes, and the transaction that it was part of
    sessions  one row per session; its owner increments `heartbeats`, and a process that sees no increment for
              the session's time to live, by its own monotonic clock, ends the session

The application id in SQLite's header marks a file of Dray, the user version its schema.
"""

import contextlib
import os
import tempfile
from pathlib import Path
from typing import Final

import apsw

from dray.meta.port import StoreUnusable
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.runtime import sync_directory

SqlRow = tuple[int | float | str | bytes | None, ...]

APPLICATION_ID: Final = int.from_bytes(b"Dray", "big")
SCHEMA_VERSION: Final = 2
_STATEMENTS_KEPT: Final = 256
"""Prepared statements per connection: `transaction` has one for each number of rows."""

_TABLES: Final = """
CREATE TABLE state (revision INTEGER NOT NULL, forgotten INTEGER NOT NULL);
INSERT INTO state VALUES (0, 0);
CREATE TABLE entries (
    domain TEXT NOT NULL, depth INTEGER NOT NULL, key TEXT NOT NULL,
    value BLOB NOT NULL, version INTEGER NOT NULL, session TEXT,
    PRIMARY KEY (domain, depth, key)
) WITHOUT ROWID;
CREATE INDEX ephemeral ON entries (session) WHERE session IS NOT NULL;
CREATE TABLE commits (
    revision INTEGER PRIMARY KEY, transaction_id BLOB NOT NULL, at_ms INTEGER NOT NULL,
    domain TEXT NOT NULL, changes BLOB NOT NULL
); CREATE TABLE sessions (id TEXT PRIMARY KEY, ttl_ms INTEGER NOT NULL, heartbeats INTEGER NOT NULL) WITHOUT
ROWID;
"""
_MARKS: Final = f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"


def create_file(path: Path) -> None:
    """Create an empty file that only its owner may read, unless it exists; also its directory."""
    if path.exists():
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Created under another name and linked: closing a file descriptor of our own on `path` would
    # drop the locks that another connection of this process holds on it (POSIX).
    made, aside = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    os.close(made)
    try:
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        Path(aside).unlink()
    sync_directory(path.parent)


def connect(path: Path, settings: SqliteMetaSettings) -> apsw.Connection:
    """Open an existing metadata file."""
    flags = apsw.SQLITE_OPEN_READWRITE
    db = apsw.Connection(str(path), flags=flags, vfs=settings.vfs, statementcachesize=_STATEMENTS_KEPT)
    try:
        db.set_busy_timeout(settings.busy_ms)
        require_ours(db, path)
        if db.readonly("main"):
            raise apsw.ReadOnlyError("it is read-only")
        rows(db, "PRAGMA synchronous = FULL")
        rows(db, f"PRAGMA wal_autocheckpoint = {settings.checkpoint_pages}")
        rows(db, f"PRAGMA journal_size_limit = {settings.checkpoint_pages * 4096 * 4}")
    except (apsw.Error, StoreUnusable):
        disconnect(db)
        raise
    return db


def disconnect(db: apsw.Connection) -> None:
    """Close a connection, which rolls back; on a failing disk that may fail too, without loss."""
    with contextlib.suppress(apsw.Error):
        db.close(force=True)


def connect_reader(path: Path, settings: SqliteMetaSettings, *, busy_ms: int) -> apsw.Connection:
    db = connect(path, settings)
    db.set_busy_timeout(busy_ms)
    rows(db, "PRAGMA query_only = ON")
    return db


def require_ours(db: apsw.Connection, path: Path) -> None:
    """Raise unless the file is empty or a metadata file of this schema version."""
    rows(db, "BEGIN")  # one snapshot: another process may be creating the tables
    ((application,),) = rows(db, "PRAGMA application_id")
    ((version,),) = rows(db, "PRAGMA user_version")
    empty = is_empty(db)
    rows(db, "ROLLBACK")
    if application != APPLICATION_ID and not empty:
        raise StoreUnusable(
            f"{path} is an SQLite file of another application; choose another path for Dray's metadata"
        )
    if application == APPLICATION_ID and version != SCHEMA_VERSION:
        assert isinstance(version, int)
        author, remedy = (
            ("an older", "start with an empty data directory and bucket, or use the Dray that wrote it")
            if version < SCHEMA_VERSION
            else ("a newer", "upgrade Dray")
        )
        raise StoreUnusable(
            f"the metadata file {path} was written by {author} Dray "
            f"(schema {version}, this build reads {SCHEMA_VERSION} only): {remedy}"
        )


def is_empty(db: apsw.Connection) -> bool:
    return rows(db, "SELECT count(*) FROM sqlite_schema") == [(0,)]


def create_tables(db: apsw.Connection, path: Path) -> None:
    """Turn an empty file into a metadata file; the caller holds the write lock."""
    ((mode,),) = rows(db, "PRAGMA journal_mode = WAL")
    if mode != "wal":
        raise StoreUnusable(f"{path} is on a file system without shared memory; move it to a local disk")
    if is_empty(db):
        rows(db, f"BEGIN IMMEDIATE; {_TABLES} {_MARKS} COMMIT")


def rows(db: apsw.Connection, sql: str, values: SqlRow = ()) -> list[SqlRow]:
    """Run SQL to completion; a cursor that is not exhausted would keep a read transaction open."""
    return db.execute(sql, values).fetchall()
