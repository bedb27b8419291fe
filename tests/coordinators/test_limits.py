"""Limits of a group that change while it has members."""

import asyncio

from msgspec.structs import replace

from dray.groups.types import GroupError
from tests.coordinators.builders import GROUP, LIMITS, Broker, Rig, consumer_heartbeat, simulated

SESSION_S, LONGER_S = 45, 60


async def heartbeat(broker: Broker, epoch: int) -> tuple[GroupError, int, int]:
    result = await broker.do(broker.groups.consumer_heartbeat(GROUP, consumer_heartbeat(broker, "a", epoch)))
    return result.error, result.epoch, result.interval_ms


@simulated
async def test_new_session_timeout_applies_from_the_next_heartbeat_on(rig: Rig) -> None:
    broker = await rig.broker()
    _, epoch, _ = await heartbeat(broker, 0)
    rig.limits = replace(LIMITS, consumer_session_timeout_ms=LONGER_S * 1000)
    await asyncio.sleep(1)
    assert (await heartbeat(broker, epoch))[0] is GroupError.NONE
    await asyncio.sleep((SESSION_S + LONGER_S) / 2)
    assert (await heartbeat(broker, epoch))[0] is GroupError.NONE
    rig.limits = LIMITS
    await asyncio.sleep(1)
    assert (await heartbeat(broker, epoch))[0] is GroupError.NONE
    await asyncio.sleep((SESSION_S + LONGER_S) / 2)
    assert (await heartbeat(broker, epoch))[0] is GroupError.UNKNOWN_MEMBER_ID


@simulated
async def test_new_heartbeat_interval_is_returned_with_the_next_heartbeat(rig: Rig) -> None:
    broker = await rig.broker()
    _, epoch, interval_ms = await heartbeat(broker, 0)
    assert interval_ms == 5_000
    rig.limits = replace(LIMITS, consumer_heartbeat_interval_ms=9_000)
    assert await heartbeat(broker, epoch) == (GroupError.NONE, epoch, 9_000)
