"""Recorded failures of topics: kept until a pass succeeds, and shown by the compaction status."""

import pytest

from dray.compaction.failures import TopicFailure
from dray.ids import Domain
from dray.keyspace import CLUSTER_DOMAIN, failure_key
from dray.maintenance.status import status_of
from dray.meta.port import Entry, Put, Unavailable
from tests.compaction.passes import CompactorRig, compactor_rig
from tests.log.builders import Rig, simulated


async def altered(rig: Rig) -> CompactorRig:
    """Return two topics, one with new records and a table that another engine has altered."""
    made = await compactor_rig(rig, "one", "two")
    await made.run_pass()
    await made.write("one")
    made.catalog.external_alter(made.table("one"), "a column is missing")
    return made


async def failure(made: CompactorRig, topic: str) -> TopicFailure | None:
    return (await status_of(made.rig.meta, 1, made.found(topic))).failure


@simulated
async def test_failure_is_recorded_until_a_pass_succeeds(rig: Rig) -> None:
    made = await altered(rig)
    (failed, _) = await made.run_pass()
    first = await failure(made, "one")
    assert first == TopicFailure(rig.clock.now_ms(), rig.clock.now_ms(), failed.failure)
    assert "a column is missing" in first.reason
    assert await failure(made, "two") is None
    written = await rig.meta.get(CLUSTER_DOMAIN, failure_key(made.found("one").topic_id))
    await rig.settle(10)
    await made.run_pass()
    again = await rig.meta.get(CLUSTER_DOMAIN, failure_key(made.found("one").topic_id))
    assert again == written, "an unchanged failure is not written again"
    made.catalog.external_alter(made.table("one"), "a type differs")
    await rig.settle(30)
    await made.run_pass()
    changed = await failure(made, "one")
    assert changed is not None
    assert (changed.since_ms, changed.changed_at_ms) == (first.since_ms, rig.clock.now_ms())
    assert "a type differs" in changed.reason
    made.catalog.external_alter(made.table("one"), None)
    await made.run_pass("another process")
    assert await failure(made, "one") is None


@simulated
async def test_failure_of_a_deleted_topic_is_removed(rig: Rig) -> None:
    made = await altered(rig)
    await made.run_pass()
    one = made.found("one")
    assert await rig.meta.get(CLUSTER_DOMAIN, failure_key(one.topic_id)) is not None
    await made.topic_admin.delete("one", one.topic_id)
    await made.topic_admin.finish_deletions()
    await made.run_pass()
    assert await rig.meta.get(CLUSTER_DOMAIN, failure_key(one.topic_id)) is None


@simulated
async def test_corrupt_record_of_a_failure_is_overwritten(rig: Rig) -> None:
    made = await altered(rig)
    await rig.meta.commit(CLUSTER_DOMAIN, [], [Put(failure_key(made.found("one").topic_id), b"\xff")])
    await made.run_pass()
    kept = await failure(made, "one")
    assert kept is not None
    assert "a column is missing" in kept.reason


@simulated
async def test_failure_to_record_a_failure_changes_nothing_else(rig: Rig) -> None:
    made = await altered(rig)
    key = failure_key(made.found("one").topic_id)
    real = rig.meta.get
    refused = []

    async def get(domain: Domain, requested: str) -> Entry | None:
        if requested == key:
            refused.append(requested)
            raise Unavailable("the store is unavailable")
        return await real(domain, requested)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig.meta, "get", get)
        (one, two) = await made.run_pass()
    assert refused == [key]
    assert ("a column is missing" in one.failure, two.failure) == (True, "")
    assert await failure(made, "one") is None
