"""Lost responses of the memory store, in virtual time."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest

from dray.meta.memory import (
    CommitRefused,
    DirectLink,
    Link,
    MemoryMetaServer,
    MemoryMetaSettings,
    MemoryMetaStore,
    ResponseLost,
)
from dray.meta.port import ABSENT, Check, OutcomeUnknown, Put, Unavailable, Version, Versions
from dray.runtime import RetrySettings, Tasks
from dray.testing.clock import VirtualClock
from dray.testing.contracts.meta_harness import D, put, value_of
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.virtual_loop import run

T = TypeVar("T")
BUDGET_S = 30.0


class ScriptedLink:
    """Treats each request as scripted, and passes all later ones."""

    def __init__(self, *script: str) -> None:
        self._script = list(script)
        self.late: list[Callable[[], object]] = []

    async def call(self, request: Callable[[], T]) -> T:
        step = self._script.pop(0) if self._script else "pass"
        if step == "answer lost":
            request()
        if step == "late":
            self.late.append(request)
        if step == "refused":
            raise Unavailable("refused")
        if step != "pass":
            raise ResponseLost
        return request()


def client(link: Link, server: MemoryMetaServer | None = None) -> MemoryMetaStore:
    clock = VirtualClock(asyncio.get_running_loop())
    settings = MemoryMetaSettings(RetrySettings(first_ms=10, max_ms=1_000, budget_ms=BUDGET_S * 1000))
    server = server or MemoryMetaServer(clock)
    return MemoryMetaStore(server, clock, SeededEntropy(1), tasks=Tasks(), settings=settings, link=link)


@pytest.mark.parametrize("fault", ["answer lost", "request lost", "late", "refused"])
def test_commit_happens_once_despite_faults_of_its_first_request(fault: str) -> None:
    async def main() -> None:
        link = ScriptedLink(fault)
        store = client(link)
        outcome = await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"1")])
        assert outcome == Versions((Version(1),))
        for request in link.late:
            with pytest.raises(CommitRefused):
                request()
        entry = await store.get(D, "/a")
        assert entry is not None
        assert entry.version == 1

    run(main())


@pytest.mark.parametrize("fault", ["answer lost", "request lost", "late", "refused"])
def test_outcome_lookup_is_retried_until_it_is_answered(fault: str) -> None:
    async def main() -> None:
        store = client(ScriptedLink("answer lost", fault, fault, fault))
        assert await store.commit(D, [Check("/a", ABSENT)], [Put("/a", b"1")]) == Versions((Version(1),))

    run(main())


def test_outcome_is_unknown_after_the_timeout() -> None:
    async def main() -> None:
        store = client(ScriptedLink(*["request lost"] * 10_000))
        began = asyncio.get_running_loop().time()
        with pytest.raises(OutcomeUnknown):
            await store.commit(D, [], [Put("/a", b"1")])
        assert BUDGET_S - 2 <= asyncio.get_running_loop().time() - began <= BUDGET_S + 2

    run(main())


def test_reads_are_retried_until_the_timeout() -> None:
    async def main() -> None:
        assert await client(ScriptedLink("request lost", "refused")).get(D, "/a") is None
        began = asyncio.get_running_loop().time()
        with pytest.raises(Unavailable):
            await client(ScriptedLink(*["request lost"] * 10_000)).get(D, "/a")
        assert BUDGET_S - 2 <= asyncio.get_running_loop().time() - began <= BUDGET_S + 2

    run(main())


def test_close_ends_a_pending_outcome_lookup() -> None:
    async def main() -> None:
        store = client(ScriptedLink(*["request lost"] * 10_000))
        async with asyncio.TaskGroup() as group:
            commit = group.create_task(_unknown(store))
            await asyncio.sleep(1)
            await store.close()
            async with asyncio.timeout(2):
                await commit

    run(main())


async def _unknown(store: MemoryMetaStore) -> None:
    with pytest.raises(OutcomeUnknown):
        await store.commit(D, [], [Put("/a", b"1")])


@pytest.mark.parametrize("seed", range(20))
def test_no_update_is_lost_or_duplicated_over_a_faulty_link(seed: int) -> None:
    assert run(_count_over_a_bad_link(seed), seed=seed) == 40


def test_client_that_guesses_outcomes_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    async def guess(self: MemoryMetaStore, commit_id: str) -> str:
        return "fenced"

    monkeypatch.setattr(MemoryMetaStore, "resolve_lost_commit", guess)
    counts = [run(_count_over_a_bad_link(seed), seed=seed) for seed in range(20)]
    assert any(count != 40 for count in counts)


async def _count_over_a_bad_link(seed: int) -> int:
    """Increment a counter ten times from each of four clients; return the stored sum."""
    clock = VirtualClock(asyncio.get_running_loop())
    server = MemoryMetaServer(clock)
    faults = FaultyLinkSettings(refused=0.05, request_lost=0.1, answer_lost=0.1, late=0.1)

    async def count(number: int) -> None:
        store = client(FaultyLink(SeededEntropy(f"{seed} {number}"), faults), server)
        for _ in range(10):
            while True:
                entry = await store.get(D, "/n")
                check = Check("/n", entry.version if entry else ABSENT)
                value = b"%d" % (int(entry.value if entry else 0) + 1)
                if isinstance(await store.commit(D, [check], [Put("/n", value)]), Versions):
                    break

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(count(number))
    await asyncio.sleep(10)  # virtual time: all delayed requests have arrived
    final = await value_of(client(DirectLink(), server), "/n")
    return int(final or 0)


def test_request_continues_when_its_caller_is_cancelled() -> None:
    async def main() -> bytes | None:
        server = MemoryMetaServer(VirtualClock(asyncio.get_running_loop()))
        slow = FaultyLink(SeededEntropy(1), FaultyLinkSettings(0, 0, 0, 0, delay_ms=100))
        async with asyncio.TaskGroup() as group:
            task = group.create_task(put(client(slow, server), "/a", b"1"))
            await asyncio.sleep(0.001)
            task.cancel()
        await asyncio.sleep(1)
        return await value_of(client(DirectLink(), server), "/a")

    assert run(main()) == b"1"


def test_broken_link_fails_every_request() -> None:
    async def main() -> None:
        link = FaultyLink(SeededEntropy(1), FaultyLinkSettings(0, 0, 0, 0))
        store = client(link)
        await put(store, "/a", b"1")
        link.broken = True
        with pytest.raises(Unavailable):
            await store.get(D, "/a")
        link.broken = False
        assert await value_of(store, "/a") == b"1"

    run(main())


def test_fenced_commit_is_refused_and_a_finished_one_stays() -> None:
    async def main() -> None:
        server = MemoryMetaServer(VirtualClock(asyncio.get_running_loop()))
        commit = partial(server.commit, domain=D, checks=(), writes=(Put("/a", b"1"),))
        assert server.fence("one") == "fenced"
        with pytest.raises(CommitRefused):
            commit("one")
        done = commit("two")
        assert server.fence("two") == done
        with pytest.raises(CommitRefused):
            commit("two")

    run(main())
