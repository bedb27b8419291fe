"""The harness that a metadata store needs for its contract, and helpers of the tests."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final, Protocol

from dray.ids import Domain
from dray.meta.port import ChangeBatch, Check, MetaStore, Put, Session, Version, Versions, Write

D: Final = Domain("d")
PATIENCE_S: Final = 20.0
"""How long a test waits for an event; only a failing test waits that long."""


class MetaHarness(Protocol):
    """One empty metadata store, and operations on it from outside."""

    @property
    def session_ttl_ms(self) -> int:
        """A time to live that the store supports; a shorter one makes the tests faster."""
        ...

    @property
    def syncs(self) -> bool:
        """Whether watches of the store can be synced."""
        ...

    async def open(self) -> MetaStore:
        """Return a new client; the harness closes it when the test ends."""
        ...

    def abandon(self, session: Session) -> None:
        """Stop renewing the session, as if its process had died."""
        ...

    async def forget_changes(self) -> None:
        """Trim all changes so far, so that a watch that resumes before them has a gap."""
        ...


async def put(store: MetaStore, key: str, value: bytes = b"", domain: Domain = D) -> Version:
    return (await commit(store, [Put(key, value)], domain=domain))[0]


async def commit(
    store: MetaStore, writes: Sequence[Write], checks: Sequence[Check] = (), domain: Domain = D
) -> tuple[Version, ...]:
    """Commit, and assert that it succeeds."""
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


async def changes_until(
    batches: AsyncIterator[ChangeBatch], key: str, version: Version | None = None
) -> dict[str, Version]:
    """Return the last version of each changed key, up to the batch with that version of `key`.

    Without a version, any report of the key ends the wait, also one of a change that did not happen.
    """
    found: dict[str, Version] = {}
    async with asyncio.timeout(PATIENCE_S):
        async for batch in batches:
            assert not batch.gap
            found.update((change.key, change.version) for change in batch.changes)
            if key in found and version in (None, found[key]):
                break
    return found
