"""Commits over connections that break at any point, with requests that arrive late or twice."""

import asyncio
import random
from typing import Any

import pytest

from dray.meta.etcd import EtcdAccess, EtcdMetaSettings, EtcdMetaStore
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import TXN
from dray.meta.port import (
    Check,
    Conflict,
    Entry,
    MetaStore,
    OutcomeUnknown,
    Put,
    Unavailable,
    Version,
    Versions,
)
from dray.testing.contracts.meta_harness import D, changes_until, commit, next_batch, put
from tests.meta.cutting_proxy import FAULTS, CuttingProxy
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import EtcdHarness, fresh_prefix, opened

pytestmark = [pytest.mark.real("etcd"), pytest.mark.slow]

CLIENTS = 3
ACCOUNTS = 6
COMMITS = 80
START = 100
SETTINGS = EtcdMetaSettings(wait_ms=8_000, attempt_ms=150, history_ms=0)


class Duplicates:
    """Executes every commit's transaction again, some time after the client has moved on."""

    def __init__(self, store: EtcdMetaStore, direct: EtcdMetaStore, seed: int) -> None:
        self._direct = direct._endpoints.call
        self._call = store._endpoints.call
        self._random = random.Random(seed)
        self._late: list[api.TxnRequest] = []
        self.tried = 0
        self.succeeded = 0
        store._endpoints.call = self._remembering  # type: ignore[method-assign]

    async def _remembering(self, method: Any, request: Any, **options: Any) -> Any:
        response = await self._call(method, request, **options)
        if method is TXN and request.compare:
            self._late.append(request)
            if len(self._late) > 10:
                await self.deliver(self._late.pop(self._random.randrange(len(self._late))))
        return response

    async def deliver(self, request: api.TxnRequest) -> None:
        self.tried += 1
        self.succeeded += (await self._direct(TXN, request)).succeeded

    async def deliver_all(self) -> None:
        for request in self._late:
            await self.deliver(request)


class Client:
    """Moves money between accounts, and in the same commit leaves a blind entry in its own log."""

    def __init__(self, store: MetaStore, number: int, seed: int) -> None:
        self._store = store
        self._number = number
        self._random = random.Random(seed)
        self.happened: dict[str, Version] = {}
        self.never: set[str] = set()
        self.unknown: set[str] = set()

    async def run(self) -> None:
        for n in range(COMMITS):
            await self._transfer(f"/log/{self._number}/{n:04}")

    async def _transfer(self, key: str) -> None:
        try:
            entries = [await self._account(n) for n in self._random.sample(range(ACCOUNTS), 2)]
        except Unavailable:
            return
        checks = [Check(entry.key, entry.version) for entry in entries]
        amounts = [int(entries[0].value) - 1, int(entries[1].value) + 1]
        writes = [Put(entry.key, b"%d" % amount) for entry, amount in zip(entries, amounts, strict=True)]
        try:
            outcome = await self._store.commit(D, checks, [*writes, Put(key, b"")])
        except OutcomeUnknown:
            self.unknown.add(key)
        except Unavailable:
            self.never.add(key)
        else:
            self._note(key, outcome)

    async def blind(self) -> None:
        """Commit without any check: only the slot protects these from being executed twice."""
        for n in range(COMMITS):
            key = f"/blind/{self._number}/{n:04}"
            try:
                self._note(key, await self._store.commit(D, [], [Put(key, b""), self._last(n)]))
            except OutcomeUnknown:
                self.unknown.add(key)
            except Unavailable:
                self.never.add(key)

    def _last(self, n: int) -> Put:
        return Put(f"/last/{self._number}", b"%d" % n)

    def _note(self, key: str, outcome: Versions | Conflict) -> None:
        if isinstance(outcome, Conflict):
            self.never.add(key)
        else:
            self.happened[key] = outcome.of[-1] if key.startswith("/log/") else outcome.of[0]

    async def _account(self, number: int) -> Entry:
        entry = await self._store.get(D, f"/account/{number}")
        assert entry is not None
        return entry


@pytest.mark.parametrize("seed", range(4))
async def test_every_commit_happens_once_and_as_reported(etcd: EtcdCluster, seed: int) -> None:
    prefix = fresh_prefix()
    proxy = CuttingProxy(etcd.addresses[0], seed, chunks=(5, 60), late_s=(0.1, 0.6))
    async with proxy, opened(etcd.addresses, access=EtcdAccess(etcd.addresses, prefix)) as direct:
        await commit(direct, [Put(f"/account/{n}", b"%d" % START) for n in range(ACCOUNTS)])
        harness = EtcdHarness((), SETTINGS, EtcdAccess((proxy.address,), prefix))
        stores = [await harness.open() for _ in range(CLIENTS)]
        duplicates = [Duplicates(store, direct, seed + n) for n, store in enumerate(stores)]
        clients = [Client(store, n, seed * 10 + n) for n, store in enumerate(stores)]
        async with stores[0].watch(D, "/") as batches:
            await next_batch(batches)
            async with asyncio.TaskGroup() as group:
                for client in clients:
                    group.create_task(client.run())
                    group.create_task(client.blind())
            await asyncio.sleep(1)  # late requests have arrived
            proxy.harmless = True
            for one in duplicates:
                await one.deliver_all()
            await put(direct, "/end")
            seen = await changes_until(batches, "/end")
        await _require_history(direct, clients, seen)
        await harness.close()
    assert set(proxy.faults) == set(FAULTS), "every fault has been injected"
    assert sum(one.tried for one in duplicates) > COMMITS
    assert not any(one.succeeded for one in duplicates)


async def _require_history(store: MetaStore, clients: list[Client], seen: dict[str, Version]) -> None:
    found = {
        entry.key: entry
        for name in ("log", "blind")
        for n in range(CLIENTS)
        for entry in await store.scan(D, f"/{name}/{n}/", f"/{name}/{n}/~")
    }
    for client in clients:
        versions = {key: found[key].version for key in client.happened if key in found}
        assert versions == client.happened, "acknowledged commits are there, with their versions"
        assert not client.never & found.keys(), "commits that did not happen are not there"
    reported = {key for client in clients for key in client.happened.keys() | client.unknown}
    assert found.keys() <= reported
    assert {key: entry.version for key, entry in found.items()}.items() <= seen.items()
    transfers = sum(key.startswith("/log/") for key in found)
    accounts = await store.scan(D, "/account/", "/account/~")
    assert sum(int(entry.value) for entry in accounts) == ACCOUNTS * START
    assert transfers > COMMITS / 2
    for n, client in enumerate(clients):
        last = await store.get(D, f"/last/{n}")
        blind = [key for key in client.happened if key.startswith("/blind/")]
        assert last is not None
        assert last.version >= client.happened[max(blind)], "no older commit was executed after a newer one"
        if not client.unknown:
            assert last.value == b"%d" % int(max(blind).rpartition("/")[2])
