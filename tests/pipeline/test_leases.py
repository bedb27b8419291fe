"""Of several compactors one has a topic; none is kept from it by a lease of its own."""

import pytest

from dray.meta.port import MetaError
from dray.pipeline.leases import Leases
from tests.log.builders import Rig, simulated

TOPIC = bytes(16)


@simulated
async def test_one_at_a_time(rig: Rig) -> None:
    one, two = [Leases((await rig.open(name)).meta, name, 5_000) for name in ("a", "b")]
    assert await one.take(TOPIC)
    assert not await two.take(TOPIC)
    await one.release(TOPIC)
    assert await two.take(TOPIC)


@simulated
async def test_a_lease_that_could_not_be_given_back_is_taken_again(rig: Rig) -> None:
    opened = await rig.open("a")
    leases, other = Leases(opened.meta, "a", 20_000), Leases((await rig.open("b")).meta, "b", 20_000)
    assert await leases.take(TOPIC)
    opened.link.faults["commit"] = "refuse"
    with pytest.raises(MetaError):
        await leases.release(TOPIC)
    opened.link.faults.clear()
    assert not await other.take(TOPIC)
    assert await leases.take(TOPIC)
    await leases.release(TOPIC)
    assert await other.take(TOPIC)


@simulated
async def test_leases_that_cannot_be_given_back_run_out(rig: Rig) -> None:
    """The end of a compactor is not the place to fail: what went wrong has been told, and nothing is lost."""
    opened = await rig.open("a")
    leases, other = Leases(opened.meta, "a", 5_000), Leases((await rig.open("b")).meta, "b", 5_000)
    assert await leases.take(TOPIC)
    opened.link.faults["end_session"] = "refuse"
    await leases.close()
    assert not await other.take(TOPIC)
    await rig.settle(20)
    assert await other.take(TOPIC)
