"""What may be given up: decided here, carried out by the workers beside it. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from dray.index import IndexEntry, StreamHead, newest_ms

KEEP_FOR_EVER = -1


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """How long, and how much of, a stream is kept; anything negative means no limit, as in Kafka."""

    retention_ms: int = KEEP_FOR_EVER
    retention_bytes: int = KEEP_FOR_EVER
    is_cleaned: bool = False
    """Whether records in the middle of the stream may be gone: its size is then that of those left."""


def retained_from(
    head: StreamHead,
    entries: Iterable[IndexEntry],
    policy: RetentionPolicy,
    now_ms: int,
    cleaned_bytes: int | None = None,
) -> int:
    """Return where the stream should start; `entries` are its readable ones, oldest first.

    Whole entries go, from the front, up to the first that must stay. By time, an entry goes when its newest
    record is too old. By size, it goes when what is left without it still reaches the limit. For a stream
    that is cleaned, `cleaned_bytes` tells what the records took that are left in these entries and behind.
    """
    start = head.log_start
    for entry in entries:
        left_bytes = head.cumulative_size - entry.cumulative_size
        if cleaned_bytes is not None:
            left_bytes = cleaned_bytes = cleaned_bytes - entry.came_bytes
        if not (_too_old(entry, policy, now_ms) or _too_much(left_bytes, policy)):
            return start
        start = entry.end_offset
    return start


def _too_old(entry: IndexEntry, policy: RetentionPolicy, now_ms: int) -> bool:
    if policy.retention_ms < 0:
        return False
    return newest_ms(entry) < now_ms - policy.retention_ms


def _too_much(left_bytes: int, policy: RetentionPolicy) -> bool:
    return policy.retention_bytes >= 0 and left_bytes >= policy.retention_bytes
