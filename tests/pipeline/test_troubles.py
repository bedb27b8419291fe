"""Why a topic is not compacted is kept for whoever asks, until its turn goes well."""

import pytest

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.meta.port import Domain, Entry, Put, Unavailable
from dray.pipeline.status import status_of
from dray.pipeline.troubles import Trouble, failed_key
from tests.log.builders import Rig, simulated
from tests.pipeline.turns import Turns, turns_over


async def altered(rig: Rig) -> Turns:
    """Two topics, one of which has a record for a table that somebody has altered."""
    made = await turns_over(rig, "one", "two")
    await made.turn()
    await made.write("one")
    made.catalog.somebody_alters(made.table("one"), "a column is gone")
    return made


async def trouble(made: Turns, topic: str) -> Trouble | None:
    return (await status_of(made.rig.meta, 1, made.found(topic))).trouble


@simulated
async def test_why_a_topic_fails_is_kept_until_its_turn_goes_well(rig: Rig) -> None:
    made = await altered(rig)
    (failed, _) = await made.turn()
    first = await trouble(made, "one")
    assert first == Trouble(rig.clock.now_ms(), rig.clock.now_ms(), failed.failure)
    assert "a column is gone" in first.why
    assert await trouble(made, "two") is None
    written = await rig.meta.get(CLUSTER_DOMAIN, failed_key(made.found("one").topic_id))
    await rig.settle(10)
    await made.turn()
    again = await rig.meta.get(CLUSTER_DOMAIN, failed_key(made.found("one").topic_id))
    assert again == written, "it is not written at every turn"
    made.catalog.somebody_alters(made.table("one"), "a type is another")
    await rig.settle(30)
    await made.turn()
    changed = await trouble(made, "one")
    assert changed is not None
    assert (changed.since_ms, changed.changed_at_ms) == (first.since_ms, rig.clock.now_ms())
    assert "a type is another" in changed.why
    made.catalog.somebody_alters(made.table("one"), None)
    await made.turn("another process")
    assert await trouble(made, "one") is None


@simulated
async def test_why_a_topic_failed_is_forgotten_when_it_is_deleted(rig: Rig) -> None:
    made = await altered(rig)
    await made.turn()
    one = made.found("one")
    assert await rig.meta.get(CLUSTER_DOMAIN, failed_key(one.topic_id)) is not None
    await made.topics.delete("one", one.topic_id)
    await made.topics.finish_deletions()
    await made.turn()
    assert await rig.meta.get(CLUSTER_DOMAIN, failed_key(one.topic_id)) is None


@simulated
async def test_what_was_kept_and_cannot_be_read_is_written_over(rig: Rig) -> None:
    made = await altered(rig)
    await rig.meta.commit(CLUSTER_DOMAIN, [], [Put(failed_key(made.found("one").topic_id), b"\xff")])
    await made.turn()
    kept = await trouble(made, "one")
    assert kept is not None
    assert "a column is gone" in kept.why


@simulated
async def test_a_topic_whose_failure_cannot_be_kept_fails_as_it_did(rig: Rig) -> None:
    made = await altered(rig)
    key = failed_key(made.found("one").topic_id)
    real = rig.meta.get
    refused = []

    async def get(domain: Domain, asked: str) -> Entry | None:
        if asked == key:
            refused.append(asked)
            raise Unavailable("the store is away")
        return await real(domain, asked)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig.meta, "get", get)
        (one, two) = await made.turn()
    assert refused == [key]
    assert ("a column is gone" in one.failure, two.failure) == (True, "")
    assert await trouble(made, "one") is None
