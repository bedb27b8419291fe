"""Settings of the SQLite metadata store; the defaults suit a broker."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SqliteMetaSettings:
    wait_ms: float = 30_000.0
    """How long a commit may wait for the write lock, and an unknown outcome for its resolution."""
    busy_ms: int = 5_000
    """How long to wait for a process other than Dray that locks the file, such as a backup."""

    group_commits_max: int = 512
    """Maximum number of commits in one transaction, with one fsync."""
    commit_bytes_max: int = 64 * 1024 * 1024

    history_commits_max: int = 200_000
    history_s: float = 600.0
    """How many commits, and for how long, are kept for watchers that resume and for lookups of outcomes."""
    catch_up_commits_max: int = 10_000
    """A watcher that lags more gets a gap instead."""

    poll_ms: float = 5.0
    """How often to poll for commits of other processes while there are watchers."""
    quiet_polls: int = 400
    quiet_poll_ms: float = 25.0
    """After this many polls without a commit of another process, poll at this longer interval."""
    sweep_ms: float = 250.0
    """How often to check for expired sessions."""

    inline_rows_max: int = 64
    """A scan that may return more rows than this runs in a thread."""
    checkpoint_pages: int = 4_000
    """Number of WAL pages before a checkpoint."""
    vfs: str | None = None
    """The SQLite VFS; tests inject faults there."""
