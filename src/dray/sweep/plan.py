"""Sweep plans: where retention makes a stream start, and which objects are pending deletion.

The decisions are pure; the sweeps read the stores and carry them out.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from dray.index import IndexEntry, StreamHead, newest_ms

KEEP_FOREVER = -1


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """Retention limits of a stream, by time and by size; a negative limit means unlimited, as in Kafka."""

    retention_ms: int = KEEP_FOREVER
    retention_bytes: int = KEEP_FOREVER
    is_compacted: bool = False
    """Whether key compaction removes records from the stream: its size is then that of the records kept."""


class Reason(StrEnum):
    """Why an object may be deleted."""

    UNREFERENCED = "unreferenced"
    ORPHAN = "never committed"
    STRAY = "no metadata record"
    LOAD = "bulk load expired or aborted"


@dataclass(frozen=True, slots=True)
class PendingDeletion:
    """An object that may be deleted now, and remains deletable until it is.

    `delete` returns whether it deleted the object: another process may have deleted it already, or may have
    started to use it since the plan was made.
    """

    path: str
    reason: Reason
    delete: Callable[[], Awaitable[bool]] = field(repr=False, compare=False)


def retained_from(
    head: StreamHead,
    entries: Iterable[IndexEntry],
    policy: RetentionPolicy,
    now_ms: int,
    kept_bytes: int | None = None,
) -> int:
    """Return the log start offset under `policy`; `entries` are the stream's readable ones, oldest first.

    Whole entries expire, from the front, up to the first that must be kept. By time, an entry expires when
    its newest record is too old; by size, when the entries after it still reach the limit. For a compacted
    stream, `kept_bytes` is the size of the records kept in these entries and in all later ones.
    """
    start = head.log_start
    for entry in entries:
        left_bytes = head.cumulative_size - entry.cumulative_size
        if kept_bytes is not None:
            left_bytes = kept_bytes = kept_bytes - entry.ingested_bytes
        if not (_is_too_old(entry, policy, now_ms) or _exceeds_size(left_bytes, policy)):
            return start
        start = entry.end_offset
    return start


def _is_too_old(entry: IndexEntry, policy: RetentionPolicy, now_ms: int) -> bool:
    if policy.retention_ms < 0:
        return False
    return newest_ms(entry) < now_ms - policy.retention_ms


def _exceeds_size(left_bytes: int, policy: RetentionPolicy) -> bool:
    return policy.retention_bytes >= 0 and left_bytes >= policy.retention_bytes
