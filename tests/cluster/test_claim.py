"""A cluster's identity is made once, whoever races or dies; stores of another cluster are refused."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster import ClusterIdentity, Contended, DomainsMismatch, HalfMissing, OtherCluster
from dray.cluster.identity import CLUSTER_DOMAIN, RECORD_KEY
from dray.cluster.identity_plan import MARK_PATH
from dray.meta.port import OutcomeUnknown
from tests.cluster.stores import CREATED_MS, Process, Stores

T = TypeVar("T")

A = "AAAAAAAAAAAAAAAAAAAAAA"
B = "BBBBBBBBBBBBBBBBBBBBBB"


def record_of(stores: Stores) -> bytes | None:
    entry = stores.server.get(CLUSTER_DOMAIN, RECORD_KEY)
    return None if entry is None else entry.value


async def test_the_first_process_makes_the_cluster_and_the_next_joins_it() -> None:
    stores = Stores()
    made = await stores.claim(seed=1, domains=16)
    assert made == ClusterIdentity(made.cluster_id, 16, CREATED_MS)
    assert await stores.claim(seed=2, domains=16) == made
    assert await stores.claim(seed=2, cluster_id=made.cluster_id, domains=16) == made


async def test_a_new_cluster_gets_the_id_that_is_asked_for() -> None:
    assert (await Stores().claim(cluster_id=A)).cluster_id == A


async def test_what_is_stored_in_format_1() -> None:
    stores = Stores()
    await stores.claim(cluster_id=A, domains=3)
    assert record_of(stores) == (
        b'{"format":1,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA","domains":3,'
        b'"created_at_ms":1700000000000,"state":"formed"}'
    )
    assert stores.bucket.get(MARK_PATH) == b'{"format":1,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA"}'


async def test_a_process_killed_at_any_step_leaves_what_the_next_one_finishes() -> None:
    steps = 0
    while True:
        stores = Stores()
        killed = Process(stores, seed=1)
        for _ in range(steps):
            killed.step()
        if killed.ended:
            break
        killed.kill()
        left = record_of(stores)
        identity = await stores.claim(seed=2)
        if left is not None:
            assert identity.cluster_id == msgspec.json.decode(left)["cluster_id"]
        assert await stores.claim(seed=3) == identity
        steps += 1
    assert killed.identity is not None
    assert steps > 20, "three writes, each with two reads before it, and a stop on both sides of each"


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=80))
async def test_processes_that_race_and_die_agree(turns: list[tuple[int, bool]]) -> None:
    stores = Stores()
    processes = [Process(stores, seed) for seed in range(3)]
    seeds = iter(range(3, 100))
    for index, survives in turns:
        if processes[index].ended:
            continue
        if survives:
            processes[index].step()
        else:
            processes[index].kill()
            processes.append(processes[index])
            processes[index] = Process(stores, next(seeds))
    final = await stores.claim(seed=100)
    for process in processes:
        process.finish()
    assert [process.error for process in processes] == [None] * len(processes)
    assert {process.identity for process in processes} - {None} <= {final}


@given(st.lists(st.booleans(), max_size=40))
async def test_of_two_metadata_stores_that_want_one_bucket_one_wins(turns: list[bool]) -> None:
    first = Stores()
    second = Stores(bucket=first.bucket)
    processes = [Process(first, 1, A), Process(second, 2, B)]
    for turn in turns:
        if not processes[turn].ended:
            processes[turn].step()
    for process in processes:
        process.finish()
    (loser,) = [process for process in processes if process.error is not None]
    assert isinstance(loser.error, OtherCluster | HalfMissing)
    beaten = second if loser is processes[1] else first
    wanted = B if beaten is second else A
    assert (await Stores(beaten.server).claim(seed=3, cluster_id=wanted)).cluster_id == wanted


async def test_another_cluster_is_refused() -> None:
    a, b = Stores(), Stores()
    await a.claim(cluster_id=A)
    await b.claim(cluster_id=B)
    with pytest.raises(OtherCluster) as caught:
        await Stores(a.server, b.bucket).claim()
    assert str(caught.value) == (
        f"the metadata store sqlite:m belongs to cluster {A} but the object store s3://bucket/p holds "
        f"cluster {B}: point both to the same cluster or choose an empty prefix"
    )


async def test_an_empty_store_beside_one_that_is_not_is_refused_and_left_empty() -> None:
    full, empty = Stores(), Stores()
    await full.claim(cluster_id=A)
    with pytest.raises(
        HalfMissing, match=rf"s3://bucket/p belongs to cluster {A} but .* sqlite:m is empty: point"
    ):
        await Stores(empty.server, full.bucket).claim()
    assert record_of(empty) is None
    with pytest.raises(
        HalfMissing, match=rf"sqlite:m belongs to cluster {A} but .* has no {MARK_PATH}: point"
    ):
        await Stores(full.server, empty.bucket).claim()
    assert empty.bucket.page("", "", 1) == []


async def test_settings_that_differ_from_the_cluster_are_refused() -> None:
    stores = Stores()
    await stores.claim(cluster_id=A, domains=16)
    with pytest.raises(
        OtherCluster, match=f"belongs to cluster {A} but cluster.id is set to {B}: mend cluster.id"
    ):
        await stores.claim(cluster_id=B, domains=16)
    with pytest.raises(
        DomainsMismatch, match=r"made with 16 meta domains but cluster.domains is 1: .*domains to 16$"
    ):
        await stores.claim(cluster_id=A)
    with pytest.raises(ValueError, match="22 characters"):
        await stores.claim(cluster_id="short")


class _UnsureLink:
    """Loses the answers of commits, executed or not, and then cannot be asked; `executed` says how often."""

    def __init__(self, executed: list[bool]) -> None:
        self._executed = executed

    async def call(self, request: Callable[[], T]) -> T:
        if not _is_commit(request) or not self._executed:
            return request()
        if self._executed.pop():
            request()
        raise OutcomeUnknown("no answer")


def _is_commit(request: Callable[[], object]) -> bool:
    return isinstance(request, partial) and request.func.__name__ == "commit"


@given(st.lists(st.booleans(), min_size=1, max_size=6))
async def test_a_commit_of_unknown_outcome_is_looked_up(executed: list[bool]) -> None:
    stores = Stores()
    lost = len(executed)
    made = await stores.claim(link=_UnsureLink(executed))
    assert len(executed) < lost
    assert await stores.claim(seed=9) == made


async def test_a_store_that_never_knows_is_given_up() -> None:
    with pytest.raises(Contended, match="sqlite:m keeps changing"):
        await Stores().claim(link=_UnsureLink([False] * 99))
