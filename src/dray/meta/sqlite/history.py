"""The history of recent commits: read for watchers, trimmed by the writer."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import apsw
import msgspec

from dray.ids import Domain
from dray.meta.port import Version
from dray.meta.sqlite.schema import rows
from dray.meta.sqlite.settings import SqliteMetaSettings
from dray.meta.watching import LoggedCommit

COMMITS_BETWEEN_TRIMS: Final = 256
_TRIMMED_AT_ONCE: Final = 2_000

encode_changes: Final[Callable[[object], bytes]] = msgspec.msgpack.Encoder().encode
_decode_changes: Final = msgspec.msgpack.Decoder(tuple[tuple[str, int], ...]).decode

# One statement is one snapshot: the rows, and what was trimmed before them, are consistent.
_AFTER = (
    "SELECT s.revision, s.forgotten, c.revision, c.domain, c.changes "
    "FROM state s LEFT JOIN commits c ON c.revision > ?1 AND c.domain = coalesce(?2, c.domain) "
    "ORDER BY c.revision LIMIT ?3"
)


@dataclass(frozen=True, slots=True)
class History:
    """Commits after a revision, oldest first, up to `revision`; with `gap`, some were trimmed."""

    revision: int
    commits: list[LoggedCommit]
    gap: bool
    complete: bool
    """Whether `revision` is the last one."""


def history_after(db: apsw.Connection, after: int, limit: int, domain: Domain | None = None) -> History:
    found = cast("list[tuple[int, int, int | None, str, bytes]]", rows(db, _AFTER, (after, domain, limit)))
    revision, forgotten = found[0][:2]
    commits = [
        LoggedCommit(number, Domain(named), cast("tuple[tuple[str, Version], ...]", _decode_changes(changes)))
        for _, _, number, named, changes in found
        if number is not None
    ]
    complete = len(commits) < limit
    # A position in the future is of another file at this path.
    gap = not forgotten <= after <= revision
    return History(revision if complete else commits[-1].revision, commits, gap, complete)


def last_revision(db: apsw.Connection) -> int:
    ((revision,),) = rows(db, "SELECT revision FROM state")
    assert isinstance(revision, int)
    return revision


def trim(db: apsw.Connection, now_ms: int, settings: SqliteMetaSettings) -> None:
    """Trim commits by age and number; called every `COMMITS_BETWEEN_TRIMS` commits, so it keeps up."""
    too_many = last_revision(db) - settings.history_commits_max
    oldest = "SELECT revision, at_ms FROM commits ORDER BY revision LIMIT ?"
    ((forgotten,),) = rows(
        db,
        f"SELECT max(revision) FROM ({oldest}) WHERE at_ms < ? OR revision <= ?",  # noqa: S608 - a constant
        (_TRIMMED_AT_ONCE, now_ms - round(settings.history_s * 1000), too_many),
    )
    if forgotten is not None:
        forget(db, cast("int", forgotten))


def forget(db: apsw.Connection, revision: int) -> None:
    """Drop the changes up to `revision`; a watcher that lags behind it gets a gap."""
    rows(db, "DELETE FROM commits WHERE revision <= ?", (revision,))
    rows(db, "UPDATE state SET forgotten = ?", (revision,))
