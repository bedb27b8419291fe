"""Transactions on Oxia with lost, late and duplicate requests, and with writers that die in the middle."""

import asyncio
from collections.abc import Callable

import pytest
from google.protobuf.message import Message

from dray.meta.oxia import OxiaMetaStore
from dray.meta.oxia import api_pb2 as api
from dray.meta.oxia.keys import data_key
from dray.meta.oxia.records import (
    TransactionId,
    encode_placeholder,
)
from dray.meta.port import (
    ABSENT,
    Check,
    Conflict,
    Delete,
    Entry,
    OutcomeUnknown,
    Put,
    Unavailable,
    Versions,
    Write,
)
from dray.runtime import RetrySettings
from dray.testing.contracts.meta_harness import D, commit, put, value_of
from dray.testing.oxia_server import Fault, ScriptedFaults
from dray.testing.oxia_server.faults import ANSWER_LOST, REFUSED, late, slow, twice
from tests.meta.oxia_harness import OxiaHarness, served

NEVER = Fault(executed_after_s=None, hangs=True)
FAULTS = {
    "refused": REFUSED,
    "answer lost": ANSWER_LOST,
    "late": late(0.05),
    "twice": twice(0.05),
    "never answered": Fault(hangs=True),
    "never executed": NEVER,
}
STEPS = {"decide": 0, "apply": 1}
FOREIGN = encode_placeholder(TransactionId(b"foreign", 7))


class BeforeWrites:
    """Calls a function before the first write, and another one before each later write."""

    def __init__(self, first: Callable[[], object], later: Callable[[], object] = lambda: None) -> None:
        self._first: Callable[[], object] | None = first
        self._later = later

    def draw(self, method: str, request: Message) -> None:
        if method == "Write":
            call, self._first = self._first or self._later, None
            call()


def script(step: str, fault: Fault) -> ScriptedFaults:
    return ScriptedFaults("Write", [*[None] * STEPS[step], fault])


def write(harness: OxiaHarness, key: str, value: bytes) -> None:
    """Put a record without a transaction."""
    name = data_key(D, key)
    harness.server.write(api.WriteRequest(shard=0, puts=[api.PutRequest(key=name, value=value)]))


def delete_foreign(harness: OxiaHarness, name: str) -> None:
    """Delete a placeholder as its owner does, who knows its version."""
    stored = harness.server.shard(0).get(name)
    if stored.value == FOREIGN:
        harness.server.write(api.WriteRequest(shard=0, deletes=[api.DeleteRequest(key=name)]))


async def left_pending(harness: OxiaHarness) -> None:
    """Let a writer decide a transaction and die before it applies it."""
    store = await harness.open()
    faults = ScriptedFaults("Write", [None, NEVER])
    harness.server.faults = faults
    async with asyncio.TaskGroup() as group:
        group.create_task(_unknown(store))
        await faults.finished.wait()
        await store.close()


async def _unknown(store: OxiaMetaStore) -> None:
    with pytest.raises(OutcomeUnknown):
        await store.commit(D, [], [Put("/left", b"pending"), Delete("/old"), Put("/both", b"pending")])


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
@pytest.mark.parametrize("step", STEPS)
async def test_commit_happens_once_despite_a_fault(step: str, fault: Fault) -> None:
    async with served(request_ms=300.0) as harness:
        store, reader = await harness.open(), await harness.open()
        await put(store, "/gone")
        harness.server.faults = script(step, fault)
        writes: list[Write] = [Put("/a", b"1"), Delete("/gone"), Put("/b", b"2")]
        versions = await commit(store, writes, [Check("/a", ABSENT)])
        await harness.server.late_requests()
        for n, key in ((0, "/a"), (2, "/b")):
            assert await reader.get(D, key) == Entry(key, b"%d" % (n // 2 + 1), versions[n])
        assert await reader.get(D, "/gone") is None
        assert isinstance(await store.commit(D, [Check("/a", versions[0])], [Delete("/a")]), Versions)


@pytest.mark.parametrize("step", STEPS)
async def test_late_duplicate_does_not_restore_a_deleted_key(step: str) -> None:
    async with served(faults=script(step, twice(0.15))) as harness:
        store = await harness.open()
        first = await put(store, "/a", b"old")
        await commit(store, [Delete("/a")])
        await harness.server.late_requests()
        assert await store.get(D, "/a") is None
        assert await store.scan(D, "/", "/~") == []
        outcome = await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"new")])
        assert isinstance(outcome, Versions)
        assert outcome.of[0] != first
        assert await value_of(store, "/a") == b"new"


async def test_late_duplicate_does_not_delete_a_recreated_key() -> None:
    async with served() as harness:
        store = await harness.open()
        await put(store, "/a", b"old")
        harness.server.faults = script("apply", twice(0.15))
        await commit(store, [Delete("/a")])
        version = await put(store, "/a", b"new")
        await harness.server.late_requests()
        assert await store.get(D, "/a") == Entry("/a", b"new", version)


async def test_late_decision_of_a_fenced_commit_is_not_executed() -> None:
    faults = ScriptedFaults("Write", [late(0.1), None, REFUSED])
    async with served(faults=faults, retry=RetrySettings(first_ms=1, max_ms=1, budget_ms=20_000)) as harness:
        store = await harness.open()
        await put(store, "/n", b"1")
        version = await put(store, "/n", b"2")
        await harness.server.late_requests()
        entry = await store.get(D, "/n")
        assert entry == Entry("/n", b"2", version)


async def test_outcome_is_unknown_while_the_store_stays_unreachable() -> None:
    async with served(retry=RetrySettings(first_ms=5, max_ms=20, budget_ms=200)) as harness:
        store = await harness.open()
        harness.server.faults = ScriptedFaults("Write", [ANSWER_LOST] + [REFUSED] * 100_000)
        with pytest.raises(OutcomeUnknown):
            await store.commit(D, [], [Put("/a", b"1")])


async def test_reads_are_retried_until_the_timeout() -> None:
    async with served(retry=RetrySettings(first_ms=5, max_ms=20, budget_ms=200)) as harness:
        store = await harness.open()
        harness.server.faults = ScriptedFaults("Read", [REFUSED] * 3)
        assert await store.get(D, "/a") is None
        harness.server.faults = ScriptedFaults("Read", [REFUSED] * 100_000)
        with pytest.raises(Unavailable):
            await store.get(D, "/a")


async def test_pending_transaction_is_invisible_until_another_writer_applies_it() -> None:
    async with served() as harness:
        other = await harness.open()
        await commit(other, [Put("/old", b"1"), Put("/both", b"before")])
        await left_pending(harness)
        assert [entry.key for entry in await other.scan(D, "/", "/~")] == ["/both", "/old"]
        assert await value_of(other, "/both") == b"before"
        await put(other, "/next")
        assert [entry.key for entry in await other.scan(D, "/", "/~")] == ["/both", "/left", "/next"]
        assert await value_of(other, "/both") == b"pending"


async def test_checks_see_the_pending_transaction() -> None:
    async with served() as harness:
        other = await harness.open()
        await left_pending(harness)
        assert await other.commit(D, [Check("/left", ABSENT)], [Put("/left", b"x")]) == Conflict(("/left",))
        assert await value_of(other, "/left") == b"pending"


async def test_concurrent_helpers_apply_a_transaction_once() -> None:
    async with served() as harness:
        others = [await harness.open() for _ in range(5)]
        await left_pending(harness)
        outcomes = await asyncio.gather(
            *(store.commit(D, [], [Put(f"/{n}", b"")]) for n, store in enumerate(others))
        )
        assert all(isinstance(outcome, Versions) for outcome in outcomes)
        assert len({outcome.of for outcome in outcomes if isinstance(outcome, Versions)}) == 5
        assert await value_of(others[0], "/left") == b"pending"
        await commit(others[0], [Delete("/left")])
        await harness.server.late_requests()
        assert await others[1].get(D, "/left") is None


async def test_placeholder_of_another_transaction_is_replaced() -> None:
    """It appears after the keys were read, so the commit's own placeholder cannot be created at first."""
    async with served() as harness:
        store = await harness.open()
        harness.server.faults = BeforeWrites(lambda: write(harness, "/a", FOREIGN))
        outcome = await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"1"), Put("/b", b"1")])
        assert isinstance(outcome, Versions)
        entries = [await store.get(D, key) for key in ("/a", "/b")]
        assert [entry.version for entry in entries if entry] == list(outcome.of)


async def test_placeholder_of_another_transaction_may_be_removed_by_its_owner() -> None:
    async with served() as harness:
        store = await harness.open()
        name = data_key(D, "/a")
        harness.server.faults = BeforeWrites(
            lambda: write(harness, "/a", FOREIGN), lambda: delete_foreign(harness, name)
        )
        versions = await commit(store, [Put("/a", b"1"), Put("/b", b"1")])
        entries = [await store.get(D, key) for key in ("/a", "/b")]
        assert tuple(entry.version for entry in entries if entry) == versions


async def test_placeholder_reads_as_absent() -> None:
    async with served() as harness:
        store = await harness.open()
        await put(store, "/b")
        write(harness, "/a", FOREIGN)
        assert await store.get(D, "/a") is None
        assert [entry.key for entry in await store.scan(D, "/", "/~", limit=1)] == ["/b"]
        assert await store.commit(D, [Check("/a", ABSENT)], []) == Versions(())
        await put(store, "/a", b"1")
        assert await value_of(store, "/a") == b"1"


async def test_deletion_removes_a_placeholder() -> None:
    async with served() as harness:
        store = await harness.open()
        write(harness, "/a", FOREIGN)
        assert await commit(store, [Delete("/a")]) == (ABSENT,)
        assert harness.server.shard(0).keys(data_key(D, "/a"), data_key(D, "/b")) == []


async def test_lost_race_leaves_no_placeholder() -> None:
    faults = ScriptedFaults("Write", [slow(0.5)])
    async with served() as harness:
        loser, winner = await harness.open(), await harness.open()
        harness.server.faults = faults
        absent = [Check("/same", ABSENT)]
        async with asyncio.TaskGroup() as group:
            losing = group.create_task(loser.commit(D, absent, [Put("/same", b""), Put("/only", b"")]))
            await faults.finished.wait()
            await commit(winner, [Put("/same", b"winner")], absent)
        assert losing.result() == Conflict(("/same",))
        await put(loser, "/next")  # after the clean-up
        assert harness.server.shard(0).keys(data_key(D, "/only"), data_key(D, "/onlz")) == []
