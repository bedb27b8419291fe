"""A metadata store whose process dies at one of its commits."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from dray.ids import Domain
from dray.meta.port import Check, CommitLimits, Conflict, Entry, MetaStore, Snapshot, Versions, Write
from dray.meta.rules import require_limits


class Died(Exception):
    """The process is dead: nothing else of it happens."""


class DyingStore:
    """Passes on what a restore calls. The commit number `at` is the last one; it is made if `after`."""

    def __init__(self, inner: MetaStore, at: int, *, after: bool, limits: CommitLimits | None = None) -> None:
        self._inner = inner
        self._left = at
        self._after = after
        self.limits = limits or inner.limits

    async def get(self, domain: Domain, key: str) -> Entry | None:
        return await self._inner.get(domain, key)

    async def scan(
        self, domain: Domain, start: str, end: str, *, limit: int | None = None, reverse: bool = False
    ) -> list[Entry]:
        return await self._inner.scan(domain, start, end, limit=limit, reverse=reverse)

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        return self._inner.snapshot()

    async def commit(
        self, domain: Domain, checks: Sequence[Check], writes: Sequence[Write]
    ) -> Versions | Conflict:
        self._left -= 1
        if self._left < 0 or (self._left == 0 and not self._after):
            raise Died
        require_limits(self.limits, checks, writes)
        done = await self._inner.commit(domain, checks, writes)
        if self._left == 0:
            raise Died
        return done
