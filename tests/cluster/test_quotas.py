"""Client quotas: one key per entity, cached on every broker by the key of the limit."""

import asyncio
from collections.abc import Callable, Mapping

import pytest

from dray.cluster.quotas import ClientQuotas
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN, client_quotas_key, client_quotas_range
from dray.meta.port import Put
from dray.quotas import (
    CLIENT_ID,
    IP,
    USER,
    AddressShare,
    Entity,
    FilterComponent,
    QuotaKey,
    parse_filter,
)
from tests.cluster.worlds import Client, World, simulated

ALICE = Entity.of({USER: "alice"})
DEFAULT_CLIENT = Entity.of({CLIENT_ID: None})
LOOPBACK = Entity.of({IP: "127.0.0.1"})
PRODUCED, CONSUMED = QuotaKey.PRODUCER_BYTE_RATE, QuotaKey.CONSUMER_BYTE_RATE
EVERY = parse_filter([], strict=False)
Change = Callable[[Mapping[str, float]], Mapping[str, float]]


async def opened(world: World, client: Client) -> ClientQuotas:
    quotas = ClientQuotas(client.meta, world.clock)
    await quotas.start(client.tasks)
    return quotas


def setting(key: str, limit: float) -> Change:
    return lambda old: {**old, key: limit}


def flags(quotas: ClientQuotas) -> tuple[bool, bool]:
    return quotas.limits_clients, quotas.limits_addresses


@simulated
async def test_quota_is_visible_here_at_once_and_elsewhere_soon(world: World) -> None:
    here, there = await opened(world, world.client("a")), await opened(world, world.client("b"))
    await here.alter(ALICE, setting(PRODUCED, 10.0))
    assert here.limits(PRODUCED) == {ALICE: 10.0}
    await world.settle()
    assert there.limits(PRODUCED) == {ALICE: 10.0}
    assert there.limits(CONSUMED) == {}
    later = await opened(world, world.client("c"))
    assert [(stored.entity, stored.limits) for stored in later.matching(EVERY)] == [(ALICE, {PRODUCED: 10.0})]


@simulated
async def test_flags_follow_the_kinds_of_entities_that_have_quotas(world: World) -> None:
    quotas = await opened(world, world.client())
    assert flags(quotas) == (False, False)
    await quotas.alter(LOOPBACK, setting(QuotaKey.CONNECTION_CREATION_RATE, 5.0))
    assert flags(quotas) == (False, True)
    assert quotas.connection_rate_of("127.0.0.1") == AddressShare("127.0.0.1", 5.0)
    assert quotas.connection_rate_of("127.0.0.2") is None
    await quotas.alter(DEFAULT_CLIENT, setting(PRODUCED, 10.0))
    assert flags(quotas) == (True, True)
    await quotas.alter(DEFAULT_CLIENT, lambda _: {})
    assert flags(quotas) == (False, True)


@simulated
async def test_key_is_deleted_with_the_last_limit(world: World) -> None:
    client = world.client()
    quotas = await opened(world, client)
    await quotas.alter(ALICE, setting(PRODUCED, 10.0))
    assert len(await client.meta.scan(CLUSTER_DOMAIN, *client_quotas_range())) == 1
    version = quotas.version
    await quotas.alter(ALICE, lambda _: {})
    assert await client.meta.scan(CLUSTER_DOMAIN, *client_quotas_range()) == []
    assert quotas.matching(EVERY) == []
    assert quotas.version > version


@simulated
async def test_change_without_effect_writes_nothing(world: World) -> None:
    client = world.client()
    quotas = await opened(world, client)
    await quotas.alter(ALICE, setting(PRODUCED, 10.0))
    before = client.link.calls["commit"]
    await quotas.alter(ALICE, setting(PRODUCED, 10.0))
    await quotas.alter(DEFAULT_CLIENT, dict)
    assert client.link.calls["commit"] == before


@simulated
async def test_concurrent_changes_are_all_kept(world: World) -> None:
    here, there = await opened(world, world.client("a")), await opened(world, world.client("b"))
    await asyncio.gather(
        here.alter(ALICE, setting(PRODUCED, 10.0)),
        there.alter(ALICE, setting(CONSUMED, 20.0)),
        there.alter(ALICE, setting(QuotaKey.REQUEST_PERCENTAGE, 30.0)),
    )
    await world.settle()
    (stored,) = here.matching(EVERY)
    assert stored.limits == {PRODUCED: 10.0, CONSUMED: 20.0, QuotaKey.REQUEST_PERCENTAGE: 30.0}


@simulated
async def test_entities_with_unusual_names_are_kept_apart(world: World) -> None:
    quotas = await opened(world, world.client())
    entities = [
        Entity.of({USER: "a&client-id=b"}),
        Entity.of({USER: "a", CLIENT_ID: "b"}),
        Entity.of({USER: "/~é %="}),
        Entity.of({USER: None, CLIENT_ID: "b"}),
        Entity.of({USER: None}),
    ]
    for number, entity in enumerate(entities, start=1):
        await quotas.alter(entity, setting(PRODUCED, float(number)))
    later = await opened(world, world.client("later"))
    assert later.limits(PRODUCED) == {
        entity: float(number) for number, entity in enumerate(entities, start=1)
    }
    exact = parse_filter([FilterComponent(USER, 0, "/~é %=")], strict=True)
    assert [stored.entity for stored in later.matching(exact)] == [entities[2]]


@simulated
async def test_corrupt_value_is_ignored_and_not_overwritten(world: World) -> None:
    client = world.client()
    await client.meta.commit(CLUSTER_DOMAIN, [], [Put(client_quotas_key(ALICE.parts), b"rubbish")])
    quotas = await opened(world, client)
    assert quotas.matching(EVERY) == []
    assert not quotas.limits_clients
    with pytest.raises(CorruptValue, match="restore the value, or delete the key"):
        await quotas.alter(ALICE, setting(PRODUCED, 10.0))
