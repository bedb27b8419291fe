"""Topic leases: exclusive between processes, and reentrant within one."""

import pytest

from dray.compaction.leases import Leases
from dray.meta.port import MetaError
from tests.log.builders import Rig, simulated

TOPIC = bytes(16)


@simulated
async def test_lease_is_held_by_one_process_at_a_time(rig: Rig) -> None:
    one, two = [Leases((await rig.open(name)).meta, name, 5_000) for name in ("a", "b")]
    assert await one.acquire(TOPIC)
    assert not await two.acquire(TOPIC)
    await one.release(TOPIC)
    assert await two.acquire(TOPIC)


@simulated
async def test_lease_that_could_not_be_released_can_be_acquired_again(rig: Rig) -> None:
    opened = await rig.open("a")
    leases, other = Leases(opened.meta, "a", 20_000), Leases((await rig.open("b")).meta, "b", 20_000)
    assert await leases.acquire(TOPIC)
    opened.link.faults["commit"] = "refuse"
    with pytest.raises(MetaError):
        await leases.release(TOPIC)
    opened.link.faults.clear()
    assert not await other.acquire(TOPIC)
    assert await leases.acquire(TOPIC)
    await leases.release(TOPIC)
    assert await other.acquire(TOPIC)


@simulated
async def test_leases_that_cannot_be_released_on_close_expire(rig: Rig) -> None:
    """`close` does not raise: the leases expire anyway."""
    opened = await rig.open("a")
    leases, other = Leases(opened.meta, "a", 5_000), Leases((await rig.open("b")).meta, "b", 5_000)
    assert await leases.acquire(TOPIC)
    opened.link.faults["end_session"] = "refuse"
    await leases.close()
    assert not await other.acquire(TOPIC)
    await rig.settle(20)
    assert await other.acquire(TOPIC)
