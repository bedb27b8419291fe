"""Retention beside a damaged stream, and its cost for streams without limits."""

from dray.keyspace import head_key
from dray.meta.port import Put
from dray.sweep import RetentionPolicy
from tests.log.builders import ONE, STORE_DOMAIN, TWO, Rig, simulated
from tests.sweep.builders import retention_of


@simulated
async def test_corrupt_head_does_not_block_other_streams(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x", TWO)
    await rig.meta.commit(STORE_DOMAIN, [], [Put(head_key(ONE), b"garbage")])
    await rig.settle(10)
    await retention_of(rig, opened, RetentionPolicy(retention_ms=1)).run()
    assert (await rig.head(TWO)).log_start == 1


@simulated
async def test_streams_without_retention_limits_are_not_scanned(rig: Rig) -> None:
    opened = await rig.open()
    await opened.append("x")
    scans = opened.link.calls["scan"]
    await retention_of(rig, opened, RetentionPolicy()).run()
    assert opened.link.calls["scan"] - scans == 1 + 3, (
        "the heads, and the leftovers of interrupted trims of each stream"
    )
