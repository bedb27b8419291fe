"""Argument checks of the port, which every adapter runs before it sends anything.

A violation is a bug of the caller, so it raises `ValueError` or `TypeError`, not a `MetaError`.
"""

from collections.abc import Sequence

from dray.ids import Domain
from dray.meta.port import Check, CommitLimits, CommitTooLarge, Put, Write


def depth(key: str) -> int:
    """Return the number of slashes, by which keys are sorted before their bytes."""
    return key.count("/")


def require_key(key: str) -> None:
    if not key:
        raise ValueError("a key must not be empty")
    if not key.isascii():
        key.encode()  # a lone surrogate is not valid UTF-8; the error is a ValueError with its position


def require_domain(domain: Domain) -> None:
    if not domain.isascii():
        domain.encode()


def require_commit(domain: Domain, checks: Sequence[Check], writes: Sequence[Write]) -> None:
    """Raise unless all keys are valid, all values are bytes, and no key is written twice."""
    require_domain(domain)
    for check in checks:
        require_key(check.key)
    for write in writes:
        require_key(write.key)
        if isinstance(write, Put) and not isinstance(write.value, bytes):
            raise TypeError(f"the value of {write.key!r} must be bytes, got {type(write.value).__name__}")
    if len(writes) > 1:
        _require_each_once([write.key for write in writes])


def _require_each_once(keys: list[str]) -> None:
    if len(set(keys)) == len(keys):
        return
    twice = next(key for key in keys if keys.count(key) > 1)
    raise ValueError(f"a commit may write a key once, {twice!r} is written {keys.count(twice)} times")


def commit_bytes(checks: Sequence[Check], writes: Sequence[Write]) -> int:
    """Return the size of a commit for `CommitLimits.bytes_max`; a check is sent with its key twice."""
    checked = 2 * sum([_key_bytes(check.key) for check in checks])
    written = sum([_key_bytes(write.key) for write in writes])
    return checked + written + sum([len(write.value) for write in writes if isinstance(write, Put)])


def _key_bytes(key: str) -> int:
    return len(key) if key.isascii() else len(key.encode())


def fits(limits: CommitLimits, checks: Sequence[Check], writes: Sequence[Write]) -> bool:
    """Return whether the commit is within the limits."""
    size = commit_bytes(checks, writes)
    return len(checks) <= limits.checks_max and len(writes) <= limits.writes_max and size <= limits.bytes_max


def require_limits(limits: CommitLimits, checks: Sequence[Check], writes: Sequence[Write]) -> None:
    """Raise `CommitTooLarge` if the commit exceeds the limits."""
    if not fits(limits, checks, writes):
        size = commit_bytes(checks, writes)
        raise CommitTooLarge(
            f"a commit may have {limits.checks_max} checks, {limits.writes_max} writes and "
            f"{limits.bytes_max} bytes, got {len(checks)}, {len(writes)} and {size}"
        )


def require_scan(start: str, end: str, limit: int | None) -> None:
    if depth(start) != depth(end):
        raise ValueError(
            f"both ends of a scan must have the same number of slashes, got {start!r} and {end!r}"
        )
    if limit is not None and limit < 1:
        raise ValueError(f"the limit of a scan must be positive, got {limit}")
    for bound in (start, end):
        if not bound.isascii():
            bound.encode()
