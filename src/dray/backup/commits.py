"""Commits of a restore: many writes, split by the limits of the store. Pure."""

from collections.abc import Sequence
from typing import Final

from dray.meta.port import Check, CommitLimits, CommitTooLarge, Write
from dray.meta.rules import commit_bytes

_WRITES_MAX: Final = 2_000
_BYTES_MAX: Final = 1024 * 1024
"""Bounds in addition to the store's own; a larger value gets a commit of its own."""


def commits_of(check: Check, writes: Sequence[Write], limits: CommitLimits) -> list[list[Write]]:
    """Return the writes of each commit; raises `CommitTooLarge` for a value that does not fit into any."""
    fixed = commit_bytes([check], [])
    writes_max, bytes_max = min(_WRITES_MAX, limits.writes_max), min(_BYTES_MAX, limits.bytes_max)
    commits: list[list[Write]] = []
    size = bytes_max + 1
    for write in writes:
        added = commit_bytes([], [write])
        if fixed + added > limits.bytes_max:
            raise CommitTooLarge(
                f"{write.key} takes {added} bytes, more than this metadata store accepts in a commit "
                f"({limits.bytes_max}): raise its limits (etcd: --max-request-bytes, and "
                "metadata.etcd_request_bytes_max), or choose another store"
            )
        if size + added > bytes_max or len(commits[-1]) >= writes_max:
            commits.append([])
            size = fixed
        commits[-1].append(write)
        size += added
    return commits
