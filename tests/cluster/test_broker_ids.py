"""Broker ids: assigned once to each address, and taken over by configured ones."""

import asyncio

from dray.cluster.addresses import Address
from dray.cluster.broker_ids import claim_broker_id
from dray.keyspace import CLUSTER_DOMAIN, broker_id_key
from dray.meta.port import Put
from tests.cluster.worlds import World, simulated

A, B, C = (Address("10.0.0.1", 9092), Address("10.0.0.2", 9092), Address("10.0.0.2", 9093))


async def claim(world: World, address: Address, wanted: int | None = None) -> int:
    return await claim_broker_id(world.client().meta, wanted, address)


@simulated
async def test_brokers_without_configured_ids_get_the_lowest_free_ones(world: World) -> None:
    assert [await claim(world, address) for address in (A, B, C)] == [1, 2, 3]


@simulated
async def test_restarted_broker_gets_its_id_again(world: World) -> None:
    assert [await claim(world, address) for address in (A, B, A, B)] == [1, 2, 1, 2]


@simulated
async def test_brokers_that_start_together_get_distinct_ids(world: World) -> None:
    addresses = [Address(f"10.0.0.{number}", 9092) for number in range(20)]
    ids = await asyncio.gather(*(claim(world, address) for address in addresses))
    assert sorted(ids) == list(range(1, 21))


@simulated
async def test_configured_id_is_assigned_to_no_other_broker(world: World) -> None:
    assert await claim(world, A, 2) == 2
    assert [await claim(world, B), await claim(world, C)] == [1, 3]


@simulated
async def test_configured_id_takes_over_the_claim_of_another_address(world: World) -> None:
    assert await claim(world, A) == 1
    assert await claim(world, B, 1) == 1
    assert await claim(world, A) == 2
    assert await claim(world, B) == 1


@simulated
async def test_start_at_a_known_address_writes_nothing(world: World) -> None:
    await claim(world, A)
    client = world.client()
    assert await claim_broker_id(client.meta, None, A) == 1
    assert client.link.calls["commit"] == 0


@simulated
async def test_id_with_a_corrupt_claim_is_taken(world: World) -> None:
    await world.client().meta.commit(CLUSTER_DOMAIN, [], [Put(broker_id_key(1), b"\xff")])
    assert await claim(world, A) == 2
