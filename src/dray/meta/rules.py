"""The port's rules that can be checked before anything is sent; every adapter calls these first.

Breaking one is a defect of the caller, so it ends with `ValueError` or `TypeError`, not with a `MetaError`.
"""

from collections.abc import Sequence

from dray.meta.port import Check, Domain, Put, Write


def depth(key: str) -> int:
    """Return what keys are sorted by before their bytes: the number of slashes."""
    return key.count("/")


def require_key(key: str) -> None:
    if not key:
        raise ValueError("a key must not be empty")
    if not key.isascii():
        key.encode()  # a lone surrogate has no UTF-8; the error is a ValueError and names its place


def require_domain(domain: Domain) -> None:
    if not domain.isascii():
        domain.encode()


def require_commit(domain: Domain, checks: Sequence[Check], writes: Sequence[Write]) -> None:
    """Raise unless the keys are keys, the values are bytes, and no key is written twice."""
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


def require_scan(start: str, end: str, limit: int | None) -> None:
    if depth(start) != depth(end):
        raise ValueError(f"a scan's ends must have as many slashes, got {start!r} and {end!r}")
    if limit is not None and limit < 1:
        raise ValueError(f"a scan's limit must be positive, got {limit}")
    for bound in (start, end):
        if not bound.isascii():
            bound.encode()
