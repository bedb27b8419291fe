"""Configs of groups: cached on every broker, and converted to limits once."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
from msgspec.structs import replace

from dray.cluster.group_config_keys import own_limits
from dray.cluster.group_configs import GroupConfigs
from dray.groups.limits import GroupLimits
from dray.index import CorruptValue
from dray.keyspace import CLUSTER_DOMAIN, group_configs_key, group_configs_range
from dray.meta.port import Put
from tests.cluster.worlds import Client, World, simulated

SESSION = "consumer.session.timeout.ms"
HEARTBEAT = "consumer.heartbeat.interval.ms"
ASSIGNMENT = "consumer.assignment.interval.ms"
LIMITS = GroupLimits()
Change = Callable[[Mapping[str, str]], Mapping[str, str]]


async def opened(world: World, client: Client, limits: GroupLimits = LIMITS) -> GroupConfigs:
    configs = GroupConfigs(client.meta, limits, world.clock)
    await configs.start(client.tasks)
    return configs


def setting(name: str, value: str) -> Change:
    return lambda old: {**old, name: value}


def dropping(name: str) -> Change:
    return lambda old: {key: value for key, value in old.items() if key != name}


@simulated
async def test_config_is_visible_here_at_once_and_elsewhere_soon(world: World) -> None:
    here, there = await opened(world, world.client("a")), await opened(world, world.client("b"))
    await here.configure("g", setting(HEARTBEAT, "7000"))
    assert here.find("g") == await there.fresh("g") == {HEARTBEAT: "7000"}
    await world.settle()
    for configs in (here, there):
        assert configs.find("g") == {HEARTBEAT: "7000"}
        assert configs.names() == ["g"]
        assert configs.limits_of("g") == replace(LIMITS, consumer_heartbeat_interval_ms=7_000)
        assert configs.limits_of("other") is configs.limits
    later = await opened(world, world.client("c"))
    assert later.limits_of("g").consumer_heartbeat_interval_ms == 7_000


@simulated
async def test_limits_are_the_same_object_until_a_config_changes(world: World) -> None:
    client = world.client()
    configs = await opened(world, client)
    await configs.configure("g", setting(SESSION, "50000"))
    await world.settle()
    limits, calls = configs.limits_of("g"), client.link.calls.total()
    assert all(configs.limits_of("g") is limits for _ in range(100))
    assert client.link.calls.total() == calls
    await configs.configure("h", setting(SESSION, "50000"))
    await world.settle()
    assert configs.limits_of("g") is limits
    await configs.configure("g", setting(SESSION, "51000"))
    assert configs.limits_of("g").consumer_session_timeout_ms == 51_000


@simulated
async def test_key_is_deleted_with_the_last_config(world: World) -> None:
    client = world.client()
    configs = await opened(world, client)
    await configs.configure("g", setting(SESSION, "50000"))
    assert len(await client.meta.scan(CLUSTER_DOMAIN, *group_configs_range())) == 1
    await configs.configure("g", dropping(SESSION))
    assert await client.meta.scan(CLUSTER_DOMAIN, *group_configs_range()) == []
    assert configs.limits_of("g") is configs.limits
    assert configs.names() == []


@simulated
async def test_change_without_effect_writes_nothing(world: World) -> None:
    client = world.client()
    configs = await opened(world, client)
    await configs.configure("g", setting(SESSION, "50000"))
    before = client.link.calls["commit"]
    await configs.configure("g", setting(SESSION, "50000"))
    await configs.configure("h", dict)
    assert client.link.calls["commit"] == before


@simulated
async def test_concurrent_changes_are_all_kept(world: World) -> None:
    here, there = await opened(world, world.client("a")), await opened(world, world.client("b"))
    await asyncio.gather(
        here.configure("g", setting(SESSION, "50000")),
        there.configure("g", setting(HEARTBEAT, "7000")),
        there.configure("g", setting(ASSIGNMENT, "0")),
    )
    assert await here.fresh("g") == {SESSION: "50000", HEARTBEAT: "7000", ASSIGNMENT: "0"}


@simulated
async def test_all_groups_are_known_after_start(world: World) -> None:
    here = await opened(world, world.client("a"))
    for number in range(300):
        await here.configure(f"g{number}", setting(SESSION, str(45_000 + number)))
    later = await opened(world, world.client("b"))
    for number in range(300):
        assert later.limits_of(f"g{number}").consumer_session_timeout_ms == 45_000 + number


@simulated
async def test_corrupt_value_is_ignored_and_not_overwritten(world: World) -> None:
    client = world.client()
    await client.meta.commit(CLUSTER_DOMAIN, [], [Put(group_configs_key("g"), b"rubbish")])
    configs = await opened(world, client)
    assert configs.find("g") == {}
    assert configs.limits_of("g") is configs.limits
    with pytest.raises(CorruptValue, match="restore the value, or delete the key"):
        await configs.configure("g", setting(SESSION, "50000"))


@simulated
async def test_config_of_a_later_version_is_preserved(world: World) -> None:
    here = await opened(world, world.client())
    await here.configure("g", lambda _: {HEARTBEAT: "6000", "consumer.new": "1"})
    assert here.find("g") == {HEARTBEAT: "6000", "consumer.new": "1"}
    assert here.limits_of("g") == replace(LIMITS, consumer_heartbeat_interval_ms=6_000)


def test_narrowed_bounds_clamp_stored_values() -> None:
    narrow = GroupLimits(
        consumer_max_session_timeout_ms=50_000,
        consumer_max_heartbeat_interval_ms=6_000,
        consumer_min_assignment_interval_ms=500,
    )
    own = own_limits({SESSION: "60000", HEARTBEAT: "15000", ASSIGNMENT: "0"}, narrow)
    assert own == replace(
        narrow,
        consumer_session_timeout_ms=50_000,
        consumer_heartbeat_interval_ms=6_000,
        consumer_assignment_interval_ms=500,
    )


def test_session_timeout_not_above_the_heartbeat_interval_is_ignored() -> None:
    limits = GroupLimits(consumer_min_session_timeout_ms=10_000)
    own = own_limits({SESSION: "10000", HEARTBEAT: "10000", ASSIGNMENT: "7"}, limits)
    assert own == replace(limits, consumer_assignment_interval_ms=7)
