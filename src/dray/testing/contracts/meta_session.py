"""The contract of metadata stores: sessions and ephemeral keys."""

import asyncio

import pytest

from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put, Session, SessionExpired, SessionId
from dray.testing.contracts.meta_harness import (
    PATIENCE_S,
    D,
    MetaHarness,
    changes_until,
    commit,
    next_batch,
    put,
    value_of,
)


class SessionContract:
    """Ephemeral keys exist as long as their session, and the owner learns first that it has expired."""

    async def test_closing_a_session_deletes_its_keys_and_notifies_watches(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        watcher = await harness.open()
        async with watcher.watch(D, "/") as batches:
            await next_batch(batches)
            versions = await commit(store, [Put("/mine", b"1", session.id), Put("/kept", b"1")])
            await changes_until(batches, "/kept", versions[1])
            await session.close()
            assert await changes_until(batches, "/mine", ABSENT) == {"/mine": ABSENT}
        assert await watcher.get(D, "/mine") is None
        assert await value_of(watcher, "/kept") == b"1"
        assert not session.alive

    async def test_session_without_renewals_expires_with_its_keys(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        watcher = await harness.open()
        async with watcher.watch(D, "/") as batches:
            await next_batch(batches)
            (version,) = await commit(store, [Put("/mine", b"1", session.id)])
            await changes_until(batches, "/mine", version)
            harness.abandon(session)
            assert await changes_until(batches, "/mine", ABSENT) == {"/mine": ABSENT}
        assert not session.alive
        assert await watcher.get(D, "/mine") is None

    async def test_renewed_session_outlives_its_ttl(self, harness: MetaHarness, store: MetaStore) -> None:
        """A second session without renewals shows that the first one would have expired."""
        kept = await store.session(harness.session_ttl_ms)
        left = await store.session(harness.session_ttl_ms)
        await commit(store, [Put("/kept", b"1", kept.id), Put("/left", b"1", left.id)])
        async with store.watch(D, "/left") as batches:
            await next_batch(batches)
            harness.abandon(left)
            assert await changes_until(batches, "/left", ABSENT) == {"/left": ABSENT}
        assert kept.alive
        assert await value_of(store, "/kept") == b"1"

    async def test_commit_with_a_closed_session_is_refused(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        await session.close()
        with pytest.raises(SessionExpired):
            await store.commit(D, [], [Put("/a", b"1"), Put("/b", b"1", session.id)])
        assert await store.scan(D, "/", "/~") == []

    async def test_commit_with_an_unknown_session_is_refused(self, store: MetaStore) -> None:
        with pytest.raises(SessionExpired):
            await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"1", SessionId("123456789abcdef0"))])
        assert await store.get(D, "/a") is None

    async def test_commit_with_an_expired_session_is_refused(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        await _expire(harness, store, session)
        with pytest.raises(SessionExpired):
            await store.commit(D, [], [Put("/a", b"1", session.id)])
        assert await store.get(D, "/a") is None

    async def test_wait_lost_returns_for_a_closed_session(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        assert session.alive
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(session.wait_lost())
            await put(store, "/a")
            assert not waiting.done()
            await session.close()
            async with asyncio.timeout(PATIENCE_S):
                await waiting

    async def test_owner_detects_the_loss_of_a_session_by_its_own_clock(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        harness.abandon(session)
        async with asyncio.timeout(PATIENCE_S):
            await session.wait_lost()
        assert not session.alive

    async def test_key_put_again_without_the_session_stays(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        session = await store.session(harness.session_ttl_ms)
        await commit(store, [Put("/a", b"1", session.id), Put("/b", b"1", session.id)])
        await put(store, "/a", b"2")
        await session.close()
        assert await value_of(store, "/a") == b"2"
        assert await store.get(D, "/b") is None

    async def test_key_taken_over_by_another_session_belongs_to_it(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        one, other = [await store.session(harness.session_ttl_ms) for _ in range(2)]
        await commit(store, [Put("/a", b"1", one.id)])
        await commit(store, [Put("/a", b"2", other.id)])
        await one.close()
        assert await value_of(store, "/a") == b"2"
        await other.close()
        assert await store.get(D, "/a") is None

    async def test_close_is_idempotent(self, harness: MetaHarness, store: MetaStore) -> None:
        session = await store.session(harness.session_ttl_ms)
        await session.close()
        await session.close()
        assert not session.alive

    async def test_closing_the_store_ends_its_sessions(self, harness: MetaHarness, store: MetaStore) -> None:
        session = await store.session(harness.session_ttl_ms)
        await commit(store, [Put("/mine", b"1", session.id)])
        watcher = await harness.open()
        async with watcher.watch(D, "/") as batches:
            await next_batch(batches)
            await store.close()
            assert await changes_until(batches, "/mine", ABSENT) == {"/mine": ABSENT}
        assert not session.alive

    async def test_key_of_an_expired_session_can_be_created(
        self, harness: MetaHarness, store: MetaStore
    ) -> None:
        """How a lock is handed over: creation fails while the owner lives, and succeeds afterwards."""
        one, other = [await store.session(harness.session_ttl_ms) for _ in range(2)]
        lock = [Check("/lock", ABSENT)]
        first = (await commit(store, [Put("/lock", b"one", one.id)], lock))[0]
        assert await store.commit(D, lock, [Put("/lock", b"other", other.id)]) == Conflict(("/lock",))
        assert await value_of(store, "/lock") == b"one"
        await one.close()
        assert (await commit(store, [Put("/lock", b"other", other.id)], lock))[0] != first


async def _expire(harness: MetaHarness, store: MetaStore, session: Session) -> None:
    """Stop renewing the session and wait until the store has ended it."""
    await commit(store, [Put("/witness", b"", session.id)])
    async with store.watch(D, "/witness") as batches:
        await next_batch(batches)
        harness.abandon(session)
        await changes_until(batches, "/witness", ABSENT)
