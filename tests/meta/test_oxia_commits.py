"""Groups of commits on Oxia, limits, and a namespace that others change."""

import asyncio

import pytest

from dray.meta.oxia.records import encode_record
from dray.meta.port import (
    ABSENT,
    Check,
    CommitTooLarge,
    Conflict,
    OutcomeUnknown,
    Put,
    StoreUnusable,
    Unavailable,
    Versions,
)
from dray.runtime import RetrySettings
from dray.testing.contracts.meta_harness import D, commit, put, value_of
from dray.testing.oxia_server import Fault, ScriptedFaults
from dray.testing.oxia_server.faults import slow
from tests.meta.oxia_harness import OxiaClients, served
from tests.meta.test_oxia_faults import BeforeWrites, write


async def test_commits_of_one_process_share_requests() -> None:
    async with served() as harness:
        store = await harness.open()
        before = harness.server.shard(0).offset
        await asyncio.gather(*(put(store, f"/{n}") for n in range(100)))
        assert harness.server.shard(0).offset - before <= 20
        assert len(await store.scan(D, "/", "/~")) == 100


async def test_commits_of_a_group_that_share_a_key_are_executed_in_order() -> None:
    async with served() as harness:
        store = await harness.open()
        version = await put(store, "/n", b"0")
        outcomes = await asyncio.gather(
            *(store.commit(D, [Check("/n", version)], [Put("/n", b"%d" % n)]) for n in range(5))
        )
        assert [type(outcome) for outcome in outcomes] == [Versions] + [Conflict] * 4
        assert await value_of(store, "/n") == b"0"


async def test_cancelled_commit_does_not_affect_its_group() -> None:
    faults = ScriptedFaults("Write", [slow(0.1)])
    async with served() as harness:
        store = await harness.open()
        harness.server.faults = faults
        async with asyncio.TaskGroup() as group:
            first = group.create_task(put(store, "/first"))
            await faults.finished.wait()
            kept = group.create_task(put(store, "/kept"))
            withdrawn = group.create_task(put(store, "/withdrawn"))
            await asyncio.sleep(0)
            first.cancel()
            withdrawn.cancel()
        assert kept.result() > ABSENT
        assert [entry.key for entry in await store.scan(D, "/", "/~")] == ["/first", "/kept"]


async def test_key_changed_by_another_program_is_reported() -> None:
    async with served() as harness:
        store = await harness.open()
        await commit(store, [Put("/a", b"1"), Put("/b", b"1")])
        harness.server.faults = BeforeWrites(lambda: write(harness, "/a", encode_record(b"foreign")))
        with pytest.raises(OutcomeUnknown, match="other than Dray"):
            await store.commit(D, [], [Put("/a", b"2"), Put("/b", b"2")])


async def test_namespace_of_another_program_is_refused() -> None:
    async with served() as harness:
        store = await harness.open()
        write(harness, "/a", b"\x07 not a record")
        with pytest.raises(StoreUnusable, match="belong to Dray"):
            await store.get(D, "/a")


async def test_too_large_commit_is_refused() -> None:
    async with served(commit_bytes_max=1002, commit_writes_max=3) as harness:
        store = await harness.open()
        with pytest.raises(CommitTooLarge, match="1003"):
            await store.commit(D, [], [Put("/a", bytes(1001))])
        with pytest.raises(CommitTooLarge, match="4"):
            await store.commit(D, [], [Put(f"/{n}", b"") for n in range(4)])
        await put(store, "/a", bytes(1000))


async def test_closing_the_store_ends_commits_and_reads_under_way() -> None:
    async with served() as harness:
        store = await harness.open()
        faults = ScriptedFaults("Write", [Fault(hangs=True)])
        harness.server.faults = faults
        sent = asyncio.ensure_future(store.commit(D, [], [Put("/a", b"")]))
        await faults.finished.wait()
        queued = asyncio.ensure_future(store.commit(D, [], [Put("/b", b"")]))
        await asyncio.sleep(0)
        await store.close()
        outcomes = await asyncio.gather(sent, queued, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [OutcomeUnknown, Unavailable]


async def test_commits_end_with_the_supervisor_of_their_tasks() -> None:
    async with served() as harness:
        store = await harness.open()
        faults = ScriptedFaults("Write", [Fault(hangs=True)])
        harness.server.faults = faults
        sent = asyncio.ensure_future(store.commit(D, [], [Put("/a", b"")]))
        await faults.finished.wait()
        await harness.tasks.stop()
        with pytest.raises(OutcomeUnknown):
            await sent
        with pytest.raises(Unavailable):
            await store.commit(D, [], [Put("/b", b"")])


async def test_unknown_namespace_and_unreachable_servers_are_reported() -> None:
    async with served() as harness:
        retry = RetrySettings(first_ms=1, max_ms=5, budget_ms=100)
        for addresses, namespace, error in (
            (harness.server.addresses, "other", StoreUnusable),
            (("127.0.0.1:1",), "default", Unavailable),
        ):
            clients = OxiaClients(*addresses, namespace=namespace, retry=retry)
            with pytest.raises(error):
                await clients.open()
            await clients.close()


async def test_store_is_opened_through_any_reachable_server() -> None:
    async with served() as harness:
        clients = OxiaClients("127.0.0.1:1", *harness.server.addresses)
        assert await put(await clients.open(), "/a") > ABSENT
        await clients.close()
