"""Simulated network of the metadata store: what each fault does to requests, watches and sessions."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

import pytest

from dray.ids import Domain
from dray.meta.memory import MemoryMetaServer, MemoryMetaSettings, MemoryMetaStore
from dray.meta.port import MetaError, OutcomeUnknown, Put, Unavailable, Version
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.contracts.meta_harness import D, changes_until, next_batch, put, value_of
from dray.testing.entropy import SeededEntropy
from dray.testing.meta_network import Kind, MetaNetwork, NetworkSettings, Route, draw_network
from dray.testing.virtual_loop import run, virtual_loop

TIMEOUT_S = 0.3
SILENCE_MAX_S = 2.0


class Rig:
    """A server, its network, and one client by default."""

    def __init__(self, seed: int, kinds: tuple[Kind, ...] = ("cut",)) -> None:
        self.clock = VirtualClock(virtual_loop())
        self.server = MemoryMetaServer(self.clock)
        self.notes: list[str] = []
        settings = NetworkSettings(
            timeout_s=TIMEOUT_S, silence_max_s=SILENCE_MAX_S, gap_odds=0.0, kinds=kinds
        )
        self.network = MetaNetwork(self.server, self.clock, Random(seed), self.notes.append, settings)
        self.direct = MemoryMetaStore(self.server, self.clock, SeededEntropy("direct"), tasks=Tasks())
        self.seed = seed
        self.client = self.open("client")

    def open(self, name: str) -> MemoryMetaStore:
        entropy = SeededEntropy(f"{name} {self.seed}")
        connected = self.network.connect(name, entropy, self.clock)
        budget = MemoryMetaSettings(RetrySettings(first_ms=5, max_ms=200, budget_ms=1_000))
        return MemoryMetaStore(
            self.server,
            self.clock,
            entropy,
            tasks=Tasks(),
            settings=budget,
            link=connected,
            feed=connected.receive,
        )

    def route(self, name: str = "client") -> Route:
        return self.network._route(name)


def networked(body: Callable[[Rig], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """Make a test that runs `body` in virtual time, with several seeds."""

    def test() -> None:
        for seed in range(5):
            run(_main(body, seed), seed=seed)

    return test


async def _main(body: Callable[[Rig], Coroutine[Any, Any, None]], seed: int) -> None:
    await body(Rig(seed))


@networked
async def test_commit_that_never_arrives_is_not_executed_before_the_route_is_restoreed(rig: Rig) -> None:
    rig.route().cut = "requests"
    with pytest.raises((OutcomeUnknown, Unavailable)):
        await put(rig.client, "k", b"v")
    assert await value_of(rig.direct, "k") is None


@networked
async def test_commit_whose_response_is_lost_has_happened_and_its_outcome_is_unknown(rig: Rig) -> None:
    rig.route().cut = "responses"
    with pytest.raises(OutcomeUnknown):
        await put(rig.client, "k", b"v")
    assert await value_of(rig.direct, "k") == b"v"


@networked
async def test_other_clients_are_not_affected_by_a_cut(rig: Rig) -> None:
    rig.route().cut = "both"
    rig.network.calm = True
    await put(rig.open("other"), "k", b"v")
    with pytest.raises(MetaError):
        await rig.client.get(D, "k")


def test_some_requests_that_did_not_arrive_do_so_once_the_route_is_restoreed() -> None:
    async def arrived(seed: int) -> bool:
        rig = Rig(seed)
        rig.route().cut = "requests"
        with pytest.raises(MetaError):
            await rig.client.commit(D, [], [Put("k", b"v")])
        rig.network.heal()
        await rig.clock.sleep(TIMEOUT_S)
        return await value_of(rig.direct, "k") == b"v"

    assert {run(arrived(seed), seed=seed) for seed in range(30)} == {True, False}


@networked
async def test_reads_are_current_while_changes_lag(rig: Rig) -> None:
    rig.route().lag_s = 4.0
    async with rig.client.watch(D, "") as batches:
        await next_batch(batches)
        version = await put(rig.direct, "k", b"1")
        assert await value_of(rig.client, "k") == b"1"
        await put(rig.direct, "k", b"2")
        assert await value_of(rig.client, "k") == b"2"
        assert (await changes_until(batches, "k"))["k"] >= version


def test_changes_of_a_key_are_merged_while_they_lag() -> None:
    async def batches_of_ten_changes(lag_s: float) -> int:
        rig = Rig(1)
        rig.route().lag_s = lag_s
        async with rig.client.watch(D, "") as batches:
            await next_batch(batches)
            writing = asyncio.create_task(_write_slowly(rig, 10))
            received = [await anext(batches)]
            while not writing.done() or received[-1].changes[0].version != writing.result():
                received.append(await anext(batches))
        assert all(len(batch.changes) == 1 for batch in received)
        return len(received)

    assert run(batches_of_ten_changes(0.0)) == 10
    assert run(batches_of_ten_changes(4.0)) < 5


async def _write_slowly(rig: Rig, times: int) -> Version:
    for _ in range(times - 1):
        await put(rig.direct, "k")
        await rig.clock.sleep(0.5)
    return await put(rig.direct, "k")


@networked
async def test_watch_is_silent_for_a_while_before_it_fails(rig: Rig) -> None:
    async with rig.client.watch(D, "") as batches:
        await next_batch(batches)
        rig.route().cut = "both"
        await put(rig.direct, "k")
        began = rig.clock.monotonic()
        with pytest.raises(Unavailable, match="interrupted"):
            await anext(batches)
        assert SILENCE_MAX_S < rig.clock.monotonic() - began < 2 * SILENCE_MAX_S


def test_watch_that_was_silent_resumes_or_has_a_gap() -> None:
    async def has_gap(seed: int) -> bool:
        rig = Rig(seed)
        async with rig.client.watch(D, "") as batches:
            await next_batch(batches)
            rig.route().cut = "both"
            await put(rig.direct, "k")
            waiting = asyncio.ensure_future(anext(batches))
            await rig.clock.sleep(SILENCE_MAX_S / 2)
            rig.route().cut = None
            batch = await waiting
            assert batch.gap is not bool(batch.changes)
            return batch.gap

    assert {run(has_gap(seed), seed=seed) for seed in range(20)} == {True, False}


@networked
async def test_nothing_is_executed_without_a_leader_and_everything_once_there_is_one(rig: Rig) -> None:
    rig.network._elect()
    committing = asyncio.create_task(put(rig.client, "k", b"1"))
    await rig.clock.sleep(0.03)
    assert rig.network.electing
    assert await value_of(rig.direct, "k") is None
    rig.network.heal()
    await asyncio.wait([committing])
    await put(rig.client, "k", b"2")
    assert await value_of(rig.client, "k") == b"2"


def test_commit_during_an_election_happens_or_not() -> None:
    async def happened(seed: int) -> bool:
        rig = Rig(seed)
        committing = asyncio.ensure_future(rig.client.commit(Domain("d"), [], [Put("k", b"v")]))
        await rig.clock.sleep(0.001)
        rig.network._elect()
        await asyncio.wait([committing])
        failed = isinstance(committing.exception(), Unavailable)
        await rig.clock.sleep(10)
        found = await value_of(rig.direct, "k") == b"v"
        assert not (failed and found)
        return found

    assert {run(happened(seed), seed=seed) for seed in range(40)} == {True, False}


@networked
async def test_session_of_a_client_that_is_cut_off_ends_at_its_owner_first(rig: Rig) -> None:
    session = await rig.client.session(1_000)
    await rig.client.commit(D, [], [Put("k", b"", session.id)])
    rig.route().cut = "both"
    while await value_of(rig.direct, "k") is not None:
        assert rig.clock.monotonic() < 5
        await rig.clock.sleep(0.005)
    assert not session.alive


@networked
async def test_new_leader_restarts_sessions(rig: Rig) -> None:
    session = await rig.client.session(1_000)
    await rig.client.commit(D, [], [Put("k", b"", session.id)])
    rig.route().cut = "both"
    rig.network._elect()
    rig.network.electing = False
    await rig.clock.sleep(1.02)
    assert await value_of(rig.direct, "k") is not None
    await rig.clock.sleep(10)
    assert await value_of(rig.direct, "k") is None


def test_faults_happen_until_the_network_heals() -> None:
    async def main() -> None:
        rig = Rig(3, kinds=("cut", "lag", "election"))
        await rig.network.disturb_for(30)
        assert len(rig.notes) > 10
        noted = len(rig.notes)
        assert rig.route().cut is None
        assert rig.route().lag_s == 0.0
        await rig.clock.sleep(30)
        assert len(rig.notes) == noted
        await put(rig.client, "k")

    run(main())


def test_one_seed_draws_one_network() -> None:
    assert draw_network(Random(5)) == draw_network(Random(5))
    assert len({draw_network(Random(seed)) for seed in range(20)}) > 10
