"""Registration of brokers: visible to all, tied to a session, and renewed after its loss."""

import asyncio

import pytest

from dray.cluster.brokers import BrokerIdTaken, BrokerInfo, LiveBrokers, Registration
from dray.meta.port import OutcomeUnknown
from tests.cluster.worlds import Client, World, simulated

TTL_MS = 1_000


def info(broker_id: int, host: str = "h") -> BrokerInfo:
    return BrokerInfo(broker_id, host, 9092, None, 0, "1")


def registration(client: Client, world: World, about: BrokerInfo) -> Registration:
    return Registration(client.meta, about, ttl_ms=TTL_MS, clock=world.clock)


async def register(client: Client, world: World, about: BrokerInfo) -> Registration:
    registered = registration(client, world, about)
    await registered.start(client.tasks)
    return registered


async def watcher(world: World) -> LiveBrokers:
    client = world.client("watcher")
    brokers = LiveBrokers(client.meta, world.clock)
    await brokers.start(client.tasks)
    return brokers


def seen(brokers: LiveBrokers) -> list[tuple[int, str]]:
    return [(broker.broker_id, broker.host) for broker in brokers.all()]


@simulated
async def test_registered_broker_is_visible_until_it_stops(world: World) -> None:
    brokers = await watcher(world)
    two = await register(world.client("b"), world, info(2))
    ten = await register(world.client("c"), world, info(10, "other"))
    await world.settle()
    assert seen(brokers) == [(2, "h"), (10, "other")], "sorted by number, not by text"
    await ten.stop()
    await world.settle()
    assert seen(brokers) == [(2, "h")]
    await two.stop()
    await world.settle()
    assert seen(brokers) == []


@simulated
async def test_stopped_broker_does_not_register_again(world: World) -> None:
    client = world.client()
    brokers = await watcher(world)
    registered = await register(client, world, info(1))
    await registered.stop()
    await world.settle(5 * TTL_MS / 1000)
    assert seen(brokers) == []


@simulated
async def test_broker_stopped_while_the_store_is_unavailable_disappears_with_its_session(
    world: World,
) -> None:
    client = world.client()
    brokers = await watcher(world)
    registered = await register(client, world, info(1))
    client.link.unavailable = True
    await registered.stop()
    await world.settle(3 * TTL_MS / 1000)
    assert seen(brokers) == []


@simulated
async def test_stop_that_was_cancelled_is_completed_by_the_next_one(world: World) -> None:
    client = world.client()
    brokers = await watcher(world)
    registered = await register(client, world, info(1))
    client.link.unavailable = True
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await registered.stop()
    client.link.unavailable = False
    await registered.stop()
    await world.settle(0.1 * TTL_MS / 1000)
    assert seen(brokers) == []


@simulated
async def test_killed_broker_disappears_with_its_session(world: World) -> None:
    client = world.client()
    brokers = await watcher(world)
    await register(client, world, info(1))
    await world.settle()
    await client.tasks.stop()
    await world.settle(0.4 * TTL_MS / 1000)
    assert seen(brokers) == [(1, "h")]
    await world.settle(TTL_MS / 1000)
    assert seen(brokers) == []


@simulated
async def test_broker_registers_again_after_session_loss(world: World) -> None:
    client = world.client()
    brokers = await watcher(world)
    await register(client, world, info(1))
    client.link.unavailable = True
    await world.settle(3 * TTL_MS / 1000)
    assert seen(brokers) == []
    client.link.unavailable = False
    await world.settle(3)
    assert seen(brokers) == [(1, "h")]


@simulated
async def test_id_in_use_is_refused_after_the_session_timeout(world: World) -> None:
    await register(world.client("a"), world, info(1, "first"))
    brokers = await watcher(world)
    started = world.clock.monotonic()
    with pytest.raises(BrokerIdTaken, match="broker id 1 is in use"):
        await register(world.client("b"), world, info(1, "second"))
    assert world.clock.monotonic() - started >= 2 * TTL_MS / 1000
    assert seen(brokers) == [(1, "first")]


@simulated
async def test_registration_waits_for_the_session_of_a_killed_predecessor(world: World) -> None:
    first = world.client("a")
    await register(first, world, info(1, "first"))
    await first.tasks.stop()
    await register(world.client("b"), world, info(1, "second"))
    brokers = await watcher(world)
    assert seen(brokers) == [(1, "second")]


@simulated
async def test_broker_retakes_its_id_once_it_is_free(world: World) -> None:
    first, second = world.client("a"), world.client("b")
    await register(first, world, info(1, "first"))
    first.link.unavailable = True
    await world.settle(2 * TTL_MS / 1000)
    other = await register(second, world, info(1, "second"))
    first.link.unavailable = False
    brokers = await watcher(world)
    await world.settle(5 * TTL_MS / 1000)
    assert seen(brokers) == [(1, "second")]
    await other.stop()
    await world.settle(5 * TTL_MS / 1000)
    assert seen(brokers) == [(1, "first")]


@simulated
async def test_registration_with_unknown_outcome_does_not_block_the_next_one(world: World) -> None:
    """The key may have been written for an abandoned session, which must end."""
    client = world.client()
    client.link.faults = {"commit": "lose response", "fence": "refuse"}
    with pytest.raises(OutcomeUnknown):
        await register(client, world, info(1))
    client.link.faults = {}
    async with asyncio.timeout(2 * TTL_MS / 1000):
        await register(client, world, info(1))
    brokers = await watcher(world)
    assert seen(brokers) == [(1, "h")]


@simulated
async def test_stop_during_reregistration_leaves_no_key(world: World) -> None:
    first, second = world.client("a"), world.client("b")
    registered = await register(first, world, info(1, "first"))
    first.link.unavailable = True
    await world.settle(2 * TTL_MS / 1000)
    other = await register(second, world, info(1, "second"))
    first.link.unavailable = False
    await world.settle(1.3)
    await registered.stop()
    await other.stop()
    brokers = await watcher(world)
    await world.settle(5 * TTL_MS / 1000)
    assert seen(brokers) == []


@simulated
async def test_broker_at_the_address_of_a_killed_predecessor_replaces_it_at_once(world: World) -> None:
    brokers = await watcher(world)
    await register(world.client("killed"), world, info(1))
    before = world.clock.monotonic()
    successor = await register(world.client("successor"), world, info(1))
    assert world.clock.monotonic() - before < TTL_MS / 2000
    await world.settle(5 * TTL_MS / 1000)
    assert seen(brokers) == [(1, "h")], "the end of the predecessor's session leaves the key"
    await successor.stop()
