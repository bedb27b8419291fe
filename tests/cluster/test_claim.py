"""Claim of a cluster's identity: created once despite races and crashes; foreign stores are refused."""

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster import ClusterIdentity, Contended, DomainsMismatch, HalfMissing, OtherCluster
from dray.cluster.identity_plan import MARK_PATH
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY
from dray.meta.port import OutcomeUnknown
from tests.cluster.stores import CREATED_MS, Process, Stores

T = TypeVar("T")

A = "AAAAAAAAAAAAAAAAAAAAAA"
B = "BBBBBBBBBBBBBBBBBBBBBB"


def record_of(stores: Stores) -> bytes | None:
    entry = stores.server.get(CLUSTER_DOMAIN, CLUSTER_KEY)
    return None if entry is None else entry.value


async def test_first_process_creates_the_cluster_and_the_next_joins_it() -> None:
    stores = Stores()
    made = await stores.claim(seed=1, domains=16)
    assert made == ClusterIdentity(made.cluster_id, 16, CREATED_MS)
    assert await stores.claim(seed=2, domains=16) == made
    assert await stores.claim(seed=2, cluster_id=made.cluster_id, domains=16) == made


async def test_number_of_domains_may_be_left_to_the_store() -> None:
    """A new cluster gets the store's number; an existing one keeps its own, whatever build made it."""
    stores = Stores()
    made = await stores.claim(seed=1, domains=None, domains_if_new=16)
    assert made.domains == 16
    assert await stores.claim(seed=2, domains=None, domains_if_new=1) == made
    assert await stores.claim(seed=2, domains=16) == made
    older = Stores()
    await older.claim(domains=1)
    assert (await older.claim(domains=None, domains_if_new=16)).domains == 1


async def test_new_cluster_gets_the_configured_id() -> None:
    assert (await Stores().claim(cluster_id=A)).cluster_id == A


async def test_stored_bytes_of_format_2_never_change() -> None:
    stores = Stores()
    await stores.claim(cluster_id=A, domains=3)
    assert record_of(stores) == (
        b'{"format":2,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA","domains":3,'
        b'"created_at_ms":1700000000000,"state":"formed"}'
    )
    assert stores.bucket.get(MARK_PATH) == b'{"format":2,"cluster_id":"AAAAAAAAAAAAAAAAAAAAAA"}'


async def test_creation_interrupted_at_any_step_is_finished_by_the_next_process() -> None:
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
    assert steps > 20, "three writes, two reads before each, and a pause before and after every request"


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=80))
async def test_racing_and_dying_processes_agree_on_the_identity(steps: list[tuple[int, bool]]) -> None:
    stores = Stores()
    processes = [Process(stores, seed) for seed in range(3)]
    seeds = iter(range(3, 100))
    for index, survives in steps:
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
async def test_one_of_two_metadata_stores_claims_a_bucket(second_steps: list[bool]) -> None:
    first = Stores()
    second = Stores(bucket=first.bucket)
    processes = [Process(first, 1, A), Process(second, 2, B)]
    for index in second_steps:
        if not processes[index].ended:
            processes[index].step()
    for process in processes:
        process.finish()
    (loser,) = [process for process in processes if process.error is not None]
    assert isinstance(loser.error, OtherCluster | HalfMissing)
    refused = second if loser is processes[1] else first
    wanted = B if refused is second else A
    assert (await Stores(refused.server).claim(seed=3, cluster_id=wanted)).cluster_id == wanted


async def test_stores_of_another_cluster_are_refused() -> None:
    a, b = Stores(), Stores()
    await a.claim(cluster_id=A)
    await b.claim(cluster_id=B)
    with pytest.raises(OtherCluster) as caught:
        await Stores(a.server, b.bucket).claim()
    assert str(caught.value) == (
        f"the metadata store sqlite:m belongs to cluster {A} but the object store s3://bucket/p holds "
        f"cluster {B}: point both to the same cluster or choose an empty prefix"
    )


async def test_empty_store_next_to_a_used_one_is_refused_and_left_empty() -> None:
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
        OtherCluster, match=f"belongs to cluster {A} but cluster.id is set to {B}: fix cluster.id"
    ):
        await stores.claim(cluster_id=B, domains=16)
    with pytest.raises(
        DomainsMismatch, match=r"has 16 meta domains but cluster.domains is 1: .*domains to 16$"
    ):
        await stores.claim(cluster_id=A)
    with pytest.raises(ValueError, match="22 characters"):
        await stores.claim(cluster_id="short")


class _UnsureLink:
    """Loses the responses of commits, executed or not, and of the lookups; `executed` says how often."""

    def __init__(self, executed: list[bool]) -> None:
        self._executed = executed

    async def call(self, request: Callable[[], T]) -> T:
        if not _is_commit(request) or not self._executed:
            return request()
        if self._executed.pop():
            request()
        raise OutcomeUnknown("no response")


def _is_commit(request: Callable[[], object]) -> bool:
    return isinstance(request, partial) and request.func.__name__ == "commit"


@given(st.lists(st.booleans(), min_size=1, max_size=6))
async def test_commit_with_unknown_outcome_is_looked_up(executed: list[bool]) -> None:
    stores = Stores()
    lost = len(executed)
    made = await stores.claim(link=_UnsureLink(executed))
    assert len(executed) < lost
    assert await stores.claim(seed=9) == made


async def test_claim_fails_if_outcomes_stay_unknown() -> None:
    with pytest.raises(Contended, match="keep changing the metadata store sqlite:m"):
        await Stores().claim(link=_UnsureLink([False] * 99))
