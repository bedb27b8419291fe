"""Lost responses of a real etcd: requests that were executed, that were not, and that come late."""

import asyncio
from typing import Any

import pytest

from dray.meta.etcd import EtcdMetaSettings, EtcdMetaStore
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import LEASE_REVOKE, RANGE, TXN
from dray.meta.etcd.errors import Unanswered
from dray.meta.etcd.sessions import lease_of
from dray.meta.port import ABSENT, Check, Conflict, OutcomeUnknown, Put, Unavailable, Versions
from dray.testing.contracts.meta_harness import D, put, value_of
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import opened

pytestmark = pytest.mark.real("etcd")

QUICK = EtcdMetaSettings(wait_ms=400, history_ms=0)


class Interference:
    """Treats the next transactions of a store as scripted, and passes all other calls."""

    def __init__(self, store: EtcdMetaStore, monkeypatch: pytest.MonkeyPatch, *script: str) -> None:
        self.script = list(script)
        self.late: list[api.TxnRequest] = []
        self.send = store._endpoints.call
        self._store = store
        monkeypatch.setattr(store._endpoints, "call", self._call)

    async def _call(self, method: Any, request: Any, **options: Any) -> Any:
        if method is not TXN or not self.script:
            return await self.send(method, request, **options)
        fault = self.script.pop(0)
        if fault == "pass":
            return await self.send(method, request, **options)
        if fault.startswith("executed"):
            await self.send(method, request, **options)
        if fault.endswith("slots lost"):
            await _end_slots(self._store)
        if fault == "late":
            self.late.append(request)
        raise Unanswered(f"the response was lost ({fault})", sent=fault != "refused")

    async def deliver_late(self) -> list[bool]:
        """Execute the requests that were delayed, and return whether each succeeded."""
        return [(await self.send(TXN, request)).succeeded for request in self.late]


async def test_commit_whose_response_is_lost_happened_once(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(etcd.addresses) as store:
        before = await put(store, "/a", b"0")
        Interference(store, monkeypatch, "executed")
        outcome = await store.commit(D, [Check("/a", before)], [Put("/a", b"1")])
        entry = await store.get(D, "/a")
        assert entry is not None
        assert outcome == Versions((entry.version,))


@pytest.mark.parametrize("fault", ["never", "late", "refused"])
async def test_commit_that_was_not_executed_is_fenced_and_repeated(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    async with opened(etcd.addresses) as store:
        await put(store, "/a", b"0")
        link = Interference(store, monkeypatch, fault)
        assert isinstance(await store.commit(D, [], [Put("/a", b"1")]), Versions)
        newer = await put(store, "/a", b"2")
        assert await link.deliver_late() == [False] * len(link.late)
        entry = await store.get(D, "/a")
        assert entry is not None
        assert (entry.value, entry.version) == (b"2", newer)


@pytest.mark.parametrize("fault", ["never", "late", "executed"])
async def test_fence_is_repeated_until_it_is_answered(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """A late fence must not harm the commits that use the slot after it."""
    async with opened(etcd.addresses) as store:
        await put(store, "/a", b"0")
        link = Interference(store, monkeypatch, "executed", fault, fault, "never")
        assert isinstance(await store.commit(D, [], [Put("/a", b"1")]), Versions)
        assert await value_of(store, "/a") == b"1"
        await put(store, "/a", b"2")
        assert not any(await link.deliver_late())
        await put(store, "/a", b"3")
        assert await value_of(store, "/a") == b"3"


async def test_fence_whose_response_is_lost_reveals_that_nothing_happened(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(etcd.addresses, QUICK) as store:
        await put(store, "/a", b"0")
        Interference(store, monkeypatch, "late", "executed", "pass", *["refused"] * 1000)
        with pytest.raises(Unavailable):
            await store.commit(D, [], [Put("/a", b"1")])


async def test_fenced_commit_never_happens(etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(etcd.addresses, QUICK) as store:
        await put(store, "/a", b"0")
        link = Interference(store, monkeypatch, "late", "pass", *["refused"] * 1000)
        with pytest.raises(Unavailable):
            await store.commit(D, [], [Put("/a", b"1")])
        assert await link.deliver_late() == [False]
        assert await value_of(store, "/a") == b"0"


async def test_outcome_is_unknown_while_no_fence_is_answered(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(etcd.addresses, QUICK) as store:
        await put(store, "/a", b"0")
        Interference(store, monkeypatch, *["executed"] * 1000)
        with pytest.raises(OutcomeUnknown, match="could not be looked up"):
            await store.commit(D, [], [Put("/a", b"1")])


async def test_outcome_is_unknown_when_the_slot_was_lost(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(etcd.addresses) as store:
        await put(store, "/a", b"0")
        Interference(store, monkeypatch, "executed, then slots lost")
        with pytest.raises(OutcomeUnknown, match="slot"):
            await store.commit(D, [], [Put("/a", b"1")])
        await put(store, "/a", b"2")


async def test_lost_slots_are_replaced(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as store:
        await put(store, "/a", b"0")
        await _end_slots(store)
        await put(store, "/a", b"1")
        await _end_slots(store)
        assert await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"2")]) == Conflict(("/a",))
        assert await value_of(store, "/a") == b"1"


async def test_slot_of_a_cancelled_commit_is_not_used_again(
    etcd: EtcdCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(etcd.addresses) as store:
        await put(store, "/a", b"0")
        begun = asyncio.Event()
        send = store._endpoints.call

        async def hang(method: Any, request: Any, **options: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

        monkeypatch.setattr(store._endpoints, "call", hang)
        async with asyncio.TaskGroup() as group:
            commit = group.create_task(store.commit(D, [], [Put("/a", b"cancelled")]))
            await begun.wait()
            commit.cancel()
        monkeypatch.setattr(store._endpoints, "call", send)
        slots = store._commits._slots
        assert (len(slots._free), len(slots._abandoned)) == (0, 1)
        await put(store, "/a", b"1")
        assert (len(slots._free), len(slots._abandoned)) == (1, 0)


async def test_closing_the_store_deletes_its_slots(etcd: EtcdCluster) -> None:
    async with opened(etcd.addresses) as other:
        async with opened(etcd.addresses, access=other._endpoints._access) as store:
            await put(store, "/a", b"1")
            assert await _slot_count(other) == 1
        assert await _slot_count(other) == 0


async def _slot_count(store: EtcdMetaStore) -> int:
    prefix = f"{store._endpoints._access.prefix}/w".encode()
    found = await store._endpoints.repeat(RANGE, api.RangeRequest(key=prefix + b"/", range_end=prefix + b"0"))
    return len(found.kvs)


async def _end_slots(store: EtcdMetaStore) -> None:
    """End the lease of the commit slots, as if the client had been cut off for a long time."""
    lease = store._commits._slots._lease
    assert lease is not None
    await store._endpoints.repeat(LEASE_REVOKE, api.LeaseRevokeRequest(ID=lease_of(lease.id)))
