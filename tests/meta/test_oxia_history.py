"""Histories of many clients on Oxia, with faults: transfers are atomic, and happen once or not at all."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.message import Message

from dray.ids import Domain
from dray.meta.oxia.channels import Channels
from dray.meta.oxia.errors import SessionNotFound
from dray.meta.port import MetaError, MetaStore, Unavailable
from dray.testing.entropy import SeededEntropy
from dray.testing.oxia_server import OxiaServer, OxiaServerSettings, RandomFaults
from tests.meta import real_oxia
from tests.meta.bank import History, audit_until, open_accounts, transfer_many, verify
from tests.meta.oxia_harness import TTL_MS, RealOxiaHarness, served

DOMAINS = [Domain("north"), Domain("south"), Domain("east")]
SETTINGS = OxiaServerSettings(shards=4, ports=(0, 0, 0), session_ttl_min_ms=TTL_MS)


async def run_bank(stores: Sequence[MetaStore], times: int) -> dict[Domain, History]:
    """Let every store transfer in every domain while one audits, and return the histories."""
    histories = {domain: History() for domain in DOMAINS}
    for domain in DOMAINS:
        await open_accounts(stores[0], domain)
    done = asyncio.Event()
    async with asyncio.TaskGroup() as audits:
        for domain, history in histories.items():
            audits.create_task(audit_until(stores[-1], domain, history, done))
        async with asyncio.TaskGroup() as transfers:
            for domain, history in histories.items():
                for number, store in enumerate(stores):
                    transfers.create_task(transfer_many(store, domain, f"{number}", history, times))
        done.set()
    return histories


async def move_leaders(server: OxiaServer, seed: int, done: asyncio.Event) -> None:
    entropy = SeededEntropy(f"leaders {seed}")
    while not done.is_set():
        shard, node = int(entropy.uniform(0, 3.99)), int(entropy.uniform(0, 2.99))
        server.move_leader(shard, node)
        await asyncio.sleep(entropy.uniform(0, 0.1))


async def run_with_faults(seed: int, clients: int, times: int, odds: float) -> RandomFaults:
    async with served(SETTINGS, request_ms=1_000.0) as harness:
        stores = [await harness.open() for _ in range(clients)]
        faults = RandomFaults(SeededEntropy(seed), odds=odds, late_s=0.1)
        harness.server.faults = faults
        done = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(move_leaders(harness.server, seed, done))
            histories = await run_bank(stores, times)
            done.set()
        await harness.server.late_requests()
        for domain, history in histories.items():
            assert history.scans > 0
            await verify(stores[0], domain, history)
    return faults


async def test_transfers_are_atomic_and_happen_once() -> None:
    faults = await run_with_faults(seed=1, clients=3, times=5, odds=0.15)
    assert faults.drawn > 10


class LossyCalls:
    """Loses, delays and repeats the requests of clients in this process, before any server."""

    def __init__(self, seed: int) -> None:
        self._faults = RandomFaults(SeededEntropy(seed), odds=0.3, late_s=0.1)
        self._call = Channels.call
        self._late: list[asyncio.Task[None]] = []

    async def call(
        self, channels: Channels, method: str, address: str, request: Message, timeout_s: float
    ) -> Any:
        fault = self._faults.draw(method, request)
        if fault is None:
            return await self._call(channels, method, address, request, timeout_s)
        for seconds in (fault.executed_after_s, fault.again_after_s):
            if seconds:
                late = self._send_later(seconds, (channels, method, address, request, timeout_s))
                self._late.append(asyncio.ensure_future(late))
        if fault.executed_after_s == 0:
            response = await self._call(channels, method, address, request, timeout_s)
            if fault.answered:
                return response
        raise Unavailable("the request or its response was lost")

    async def late_requests(self) -> None:
        await asyncio.gather(*self._late)

    async def _send_later(self, seconds: float, request: tuple[Channels, str, str, Message, float]) -> None:
        await asyncio.sleep(seconds)
        with suppress(MetaError, SessionNotFound):
            await self._call(*request)


@pytest.mark.slow
@pytest.mark.real("oxia")
@pytest.mark.parametrize("seed", range(3))
async def test_transfers_on_a_real_server_are_atomic_and_happen_once(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with real_oxia.serve(tmp_path) as address:
        await real_oxia.empty(address)
        harness = RealOxiaHarness(address, session_ttl_min_ms=2_000)
        stores = [await harness.open() for _ in range(4)]
        lossy = LossyCalls(seed)
        with monkeypatch.context() as patched:
            patched.setattr(Channels, "call", as_method(lossy))
            histories = await run_bank(stores, times=15)
            await lossy.late_requests()
        for domain, history in histories.items():
            await verify(stores[0], domain, history)
        await harness.close()


def as_method(lossy: LossyCalls) -> Callable[..., Any]:
    """Return a function that a class accepts as a method."""

    def call(channels: Channels, *arguments: Any) -> Any:
        return lossy.call(channels, *arguments)

    return call


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 8))
async def test_transfers_are_atomic_and_happen_once_with_many_faults(seed: int) -> None:
    await run_with_faults(seed, clients=4, times=15, odds=0.35)
