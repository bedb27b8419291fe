"""Sessions on Oxia: sweeps by other processes, lost requests, and sessions that end during a commit."""

import asyncio

import pytest

from dray.ids import Domain
from dray.meta.oxia import OxiaMetaStore
from dray.meta.oxia.keys import EPHEMERAL_KEYS
from dray.meta.port import ABSENT, Check, Delete, Put, SessionExpired
from dray.testing.contracts.meta_harness import D, changes_until, commit, next_batch, put, value_of
from dray.testing.oxia_server import OxiaServerSettings, ScriptedFaults
from dray.testing.oxia_server.faults import ANSWER_LOST, REFUSED, slow
from tests.meta.oxia_harness import TTL_MS, OxiaHarness, served

SHARDS = OxiaServerSettings(shards=4, session_ttl_min_ms=TTL_MS)


def indexed(harness: OxiaHarness) -> list[str]:
    """Return the ephemeral keys that are listed under their sessions."""
    shards = range(harness.server.settings.shards)
    return [key for shard in shards for key in harness.server.shard(shard).keys(*EPHEMERAL_KEYS)]


async def expired(store: OxiaMetaStore, domain: Domain, key: str) -> None:
    async with store.watch(domain, key) as batches:
        await next_batch(batches)
        if await store.get(domain, key) is not None:
            assert await changes_until(batches, key, ABSENT) == {key: ABSENT}


async def test_another_process_sweeps_all_domains_of_a_dead_process() -> None:
    async with served(SHARDS) as harness:
        victim, survivor = await harness.open(), await harness.open()
        session = await victim.session(TTL_MS)
        domains = [Domain(f"domain-{n}") for n in range(6)]
        for domain in domains:
            await commit(victim, [Put("/mine", b"", session.id), Put("/kept", b"")], domain=domain)
        harness.abandon(session)
        for domain in domains:
            await expired(survivor, domain, "/mine")
            assert await value_of(survivor, "/kept", domain) == b""
        assert indexed(harness) == []


async def test_keys_by_session_follow_their_ephemeral_keys() -> None:
    async with served() as harness:
        store = await harness.open()
        one, other = await store.session(TTL_MS), await store.session(TTL_MS)
        await commit(store, [Put("/a", b"1", one.id)])
        assert indexed(harness) == [f"xd!{one.id}!.1a"]
        await commit(store, [Put("/a", b"2", one.id)])
        assert indexed(harness) == [f"xd!{one.id}!.1a"]
        await commit(store, [Put("/a", b"3", other.id)])
        assert indexed(harness) == [f"xd!{other.id}!.1a"]
        await commit(store, [Put("/a", b"4")])
        assert indexed(harness) == []
        await commit(store, [Put("/a", b"5", one.id)])
        await commit(store, [Delete("/a")])
        assert indexed(harness) == []


async def test_session_that_ends_after_it_was_checked_leaves_no_key() -> None:
    """The commit read the session just before its end; then the sweep deletes what it creates."""
    async with served() as harness:
        store, other = await harness.open(), await harness.open()
        session = await store.session(TTL_MS)
        faults = ScriptedFaults("Write", [slow(0.2)])
        harness.server.faults = faults
        async with asyncio.TaskGroup() as group:
            group.create_task(commit(store, [Put("/mine", b"", session.id), Put("/kept", b"")]))
            await faults.finished.wait()
            await session.close()
        await expired(other, D, "/mine")
        assert await value_of(other, "/kept") == b""


@pytest.mark.parametrize("fault", [ANSWER_LOST, REFUSED], ids=["answer lost", "refused"])
@pytest.mark.parametrize("method", ["CreateSession", "Write", "CloseSession"])
async def test_opening_and_closing_a_session_despite_a_fault(method: str, fault: object) -> None:
    async with served(faults=ScriptedFaults(method, [fault])) as harness:  # type: ignore[list-item]
        store = await harness.open()
        session = await store.session(TTL_MS)
        await commit(store, [Put("/mine", b"", session.id)])
        assert session.alive
        await session.close()
        assert await store.get(D, "/mine") is None
        assert not session.alive


async def test_session_survives_a_moved_leader() -> None:
    settings = OxiaServerSettings(shards=2, ports=(0, 0), session_ttl_min_ms=TTL_MS)
    async with served(settings) as harness:
        store = await harness.open()
        kept, left = await store.session(TTL_MS), await store.session(TTL_MS)
        await commit(store, [Put("/kept", b"", kept.id), Put("/left", b"", left.id)])
        harness.abandon(left)
        for shard in (0, 1):
            harness.server.move_leader(shard, 1 - shard)
        await expired(store, D, "/left")
        assert kept.alive
        assert await value_of(store, "/kept") == b""


async def test_owner_learns_that_the_server_has_ended_its_session() -> None:
    async with served() as harness:
        store = await harness.open()
        session = await store.session(TTL_MS)
        for ended in list(harness.server.shard(0).sessions):
            harness.server.end_session(0, ended)
        async with asyncio.timeout(5):
            await session.wait_lost()
        with pytest.raises(SessionExpired):
            await store.commit(D, [], [Put("/a", b"", session.id)])


async def test_time_to_live_is_adjusted_to_what_the_server_accepts() -> None:
    async with served() as harness:
        store = await harness.open()
        await store.session(1)
        assert list(harness.server.shard(0).sessions.values()) == [TTL_MS]


async def test_lock_is_taken_over_only_after_its_session() -> None:
    async with served() as harness:
        owner, other = await harness.open(), await harness.open()
        session = await owner.session(TTL_MS)
        lock = (await commit(owner, [Put("/lock", b"owner", session.id)], [Check("/lock", ABSENT)]))[0]
        harness.abandon(session)
        await expired(other, D, "/lock")
        assert not session.alive
        assert await put(other, "/lock", b"other") != lock
