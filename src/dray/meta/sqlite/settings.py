"""How the SQLite metadata store behaves; the defaults are right for a broker."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SqliteMetaSettings:
    wait_ms: float = 30_000.0
    """How long a commit may wait for its turn, and an unknown outcome for being resolved."""
    busy_ms: int = 5_000
    """How long to wait for somebody who locks the file and is not Dray, a backup for example."""

    group_commits_max: int = 512
    """The most commits that share one transaction, and one fsync."""
    commit_bytes_max: int = 64 * 1024 * 1024

    history_commits_max: int = 200_000
    history_s: float = 600.0
    """How many commits, and for how long, are kept for watchers that resume and for outcomes to look up."""
    catch_up_commits_max: int = 10_000
    """A watcher further behind is told of a gap instead."""

    poll_ms: float = 5.0
    """How often to look for other processes' commits, while somebody watches."""
    calm_polls: int = 400
    calm_poll_ms: float = 25.0
    """After so many looks without others' commits it is enough to look this often, until there are some."""
    sweep_ms: float = 250.0
    """How often to look for sessions whose owners have died."""

    inline_rows_max: int = 64
    """A scan that may return more rows runs in a thread."""
    checkpoint_pages: int = 4_000
    """How much of the log is collected before it is copied into the file."""
    vfs: str | None = None
    """SQLite's way to the disk; tests put faults there."""
