"""Producer ids: unique across processes, and cheap."""

import asyncio

import pytest

from dray.cluster.producer_ids import ProducerIds
from dray.meta.port import Unavailable
from tests.cluster.worlds import World, simulated


@simulated
async def test_ids_of_several_processes_are_distinct(world: World) -> None:
    givers = [ProducerIds(world.client(name).meta) for name in "abc"]
    ids = await asyncio.gather(*(giver.next() for giver in givers for _ in range(2_100)))
    assert len(set(ids)) == len(ids)
    assert min(ids) == 0


@simulated
async def test_restarted_process_allocates_new_ids(world: World) -> None:
    client = world.client()
    old = [await ProducerIds(client.meta).next() for _ in range(3)]
    assert old == [0, 1000, 2000]


@simulated
async def test_block_costs_one_commit(world: World) -> None:
    client = world.client()
    ids = ProducerIds(client.meta)
    assert [await ids.next() for _ in range(1_000)] == list(range(1_000))
    assert client.link.calls["commit"] == 1


@simulated
async def test_unavailable_store_allocates_no_id_and_loses_none(world: World) -> None:
    client = world.client()
    ids = ProducerIds(client.meta)
    client.link.unavailable = True
    with pytest.raises(Unavailable):
        await ids.next()
    client.link.unavailable = False
    assert await ids.next() == 0


@simulated
async def test_block_with_unknown_outcome_is_never_allocated_twice(world: World) -> None:
    client = world.client()
    ids = ProducerIds(client.meta)
    client.link.faults = {"commit": "lose response"}
    first = await ids.next()
    client.link.faults = {}
    assert first != await ProducerIds(world.client("b").meta).next()
