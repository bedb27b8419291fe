"""What a backend of the metadata store must provide to be put to its contract, and what the tests share."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, Protocol

from dray.meta.port import (
    ChangeBatch,
    Check,
    Domain,
    MetaStore,
    Put,
    Session,
    Version,
    Versions,
    Write,
)

D: Final = Domain("d")
PATIENCE_S: Final = 20.0
"""How long a test waits for what must come; only a failing test waits so long."""


class MetaHarness(Protocol):
    """One empty metadata store, and what a test may do to it from outside."""

    @property
    def session_ttl_ms(self) -> int:
        """A time to live the store takes; the shorter, the quicker the tests."""
        ...

    async def open(self) -> MetaStore:
        """Return a new client; the harness closes it when the test ends."""
        ...

    def abandon(self, session: Session) -> None:
        """Stop keeping the session alive, as if its process had died."""
        ...

    async def forget_changes(self) -> None:
        """Let the store forget all changes so far, so that whoever resumes from before has a gap."""
        ...


async def put(store: MetaStore, key: str, value: bytes = b"", domain: Domain = D) -> Version:
    return (await commit(store, [Put(key, value)], domain=domain))[0]


async def commit(
    store: MetaStore, writes: Sequence[Write], checks: Sequence[Check] = (), domain: Domain = D
) -> tuple[Version, ...]:
    """Commit what must succeed."""
    outcome = await store.commit(domain, checks, writes)
    assert isinstance(outcome, Versions), outcome
    assert len(outcome.of) == len(writes)
    return outcome.of


async def value_of(store: MetaStore, key: str, domain: Domain = D) -> bytes | None:
    entry = await store.get(domain, key)
    return None if entry is None else entry.value


async def next_batch(batches: AsyncIterator[ChangeBatch]) -> ChangeBatch:
    async with asyncio.timeout(PATIENCE_S):
        return await anext(batches)


async def told_until(batches: AsyncIterator[ChangeBatch], key: str) -> dict[str, Version]:
    """Return the last version told of each key, up to the batch that tells of `key`."""
    told: dict[str, Version] = {}
    async with asyncio.timeout(PATIENCE_S):
        async for batch in batches:
            assert not batch.gap
            told.update((change.key, change.version) for change in batch.changes)
            if key in told:
                break
    return told
