"""Limits of a group that change while it has members."""

import asyncio

from msgspec.structs import replace

from dray.groups.faults import Fault
from tests.coordinators.builders import GROUP, LIMITS, Broker, Rig, consumer_ask, play

SESSION_S, LONGER_S = 45, 60


async def beat(broker: Broker, epoch: int) -> tuple[Fault, int, int]:
    told = await broker.do(broker.groups.consumer_beat(GROUP, consumer_ask(broker, "a", epoch)))
    return told.fault, told.epoch, told.interval_ms


def test_a_session_has_its_new_length_from_the_next_call_on() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        _, epoch, _ = await beat(broker, 0)
        rig.limits = replace(LIMITS, consumer_session_timeout_ms=LONGER_S * 1000)
        await asyncio.sleep(1)
        assert (await beat(broker, epoch))[0] is Fault.NONE
        await asyncio.sleep((SESSION_S + LONGER_S) / 2)
        assert (await beat(broker, epoch))[0] is Fault.NONE
        rig.limits = LIMITS
        await asyncio.sleep(1)
        assert (await beat(broker, epoch))[0] is Fault.NONE
        await asyncio.sleep((SESSION_S + LONGER_S) / 2)
        assert (await beat(broker, epoch))[0] is Fault.UNKNOWN_MEMBER_ID

    play(scene)


def test_a_new_interval_is_told_with_the_next_answer() -> None:
    async def scene(rig: Rig) -> None:
        broker = await rig.broker()
        _, epoch, interval_ms = await beat(broker, 0)
        assert interval_ms == 5_000
        rig.limits = replace(LIMITS, consumer_heartbeat_interval_ms=9_000)
        assert await beat(broker, epoch) == (Fault.NONE, epoch, 9_000)

    play(scene)
