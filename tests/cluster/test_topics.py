"""Topics: created once despite races, grown, configured, deleted, and found by name and by id."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from dray.cluster.topic_admin import (
    TopicAdmin,
    TopicExists,
    TopicNamesCollide,
    TopicUnknown,
    neighboring_streams,
)
from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import StreamId
from dray.keyspace import CLUSTER_DOMAIN, deleted_topics_range
from dray.meta.port import Unavailable
from tests.cluster.worlds import Client, World, simulated


class Heads:
    """A stand-in for the log: the streams that exist."""

    def __init__(self) -> None:
        self.present: set[StreamId] = set()
        self.condemned: set[StreamId] = set()
        self.broken = False

    async def create_streams(self, streams: Sequence[StreamId]) -> None:
        await asyncio.sleep(0)
        assert not self.present.intersection(streams)
        self.present.update(streams)

    async def condemn_stream(self, stream: StreamId) -> None:
        await asyncio.sleep(0)
        self.condemned.add(stream)

    async def delete_stream(self, stream: StreamId) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise Unavailable("refused by the test")
        self.present.discard(stream)


@dataclass
class Process:
    """One process's view of topics, and its administration of them."""

    catalog: TopicCatalog
    admin: TopicAdmin


async def start_process(world: World, client: Client, heads: Heads) -> Process:
    catalog = TopicCatalog(client.meta, world.clock)
    await catalog.start(client.tasks)
    return Process(catalog, TopicAdmin(catalog, client.meta, heads, world.clock, client.entropy))


async def several(world: World, heads: Heads, count: int) -> list[Process]:
    return [await start_process(world, world.client(f"client {number}"), heads) for number in range(count)]


def streams_of(catalog: TopicCatalog) -> set[StreamId]:
    return {stream for topic in catalog.all() for stream in topic.streams}


@simulated
async def test_created_topic_is_found_by_name_and_id(world: World) -> None:
    heads = Heads()
    (process,) = await several(world, heads, 1)
    made = await process.admin.create("t", 3, {"retention.ms": "5"})
    assert (
        process.catalog.find("t")
        == process.catalog.find_id(made.topic_id)
        == await process.catalog.fresh("t")
        == made
    )
    assert (made.name, made.configs, made.created_at_ms) == ("t", {"retention.ms": "5"}, world.clock.now_ms())
    assert len(made.topic_id) == 16
    assert made.uuid.bytes == made.topic_id
    assert heads.present == set(made.streams)
    assert len(made.streams) == 3
    assert made.config.whole("retention.ms") == 5


@simulated
async def test_other_processes_see_a_topic_soon_or_at_once_with_fresh(world: World) -> None:
    one, two = await several(world, Heads(), 2)
    made = await one.admin.create("t", 1, {})
    assert await two.catalog.fresh("t") == made
    other = await one.admin.create("u", 1, {})
    assert await two.catalog.fresh_id(other.topic_id) == other
    await one.admin.create("v", 1, {})
    await world.settle()
    assert [topic.name for topic in two.catalog.all()] == ["t", "u", "v"]


@simulated
async def test_one_of_several_concurrent_creations_succeeds(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 5)
    outcomes = await asyncio.gather(*(one.admin.create("t", 2, {}) for one in crowd), return_exceptions=True)
    (made,) = [one for one in outcomes if isinstance(one, Topic)]
    others = [one for one in outcomes if not isinstance(one, Topic)]
    assert all(isinstance(one, TopicExists) and str(one) == "Topic 't' already exists." for one in others)
    await world.settle()
    assert all(one.catalog.find("t") == made for one in crowd)
    assert heads.present == set(made.streams), "the streams of the losers are deleted"


@simulated
async def test_names_that_differ_in_dots_and_underscores_collide(world: World) -> None:
    (process,) = await several(world, Heads(), 1)
    await process.admin.create("a.b_c", 1, {})
    for name in ("a_b.c", "a_b_c", "a.b.c"):
        with pytest.raises(TopicNamesCollide, match=f"'{name}' collides with existing topic: a.b_c"):
            await process.admin.create(name, 1, {})
    await process.admin.create("a-b_c", 1, {})
    assert process.catalog.colliding("a.b_c") is None


@simulated
async def test_concurrent_growth_ends_at_the_largest_count(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 4)
    old = await crowd[0].admin.create("t", 2, {})
    await asyncio.gather(
        *(one.admin.grow("t", count) for one, count in zip(crowd, (3, 5, 5, 4), strict=True))
    )
    new = await crowd[0].catalog.fresh("t")
    assert new is not None
    assert new.streams[:2] == old.streams
    assert len(new.streams) == 5
    assert heads.present == set(new.streams)
    assert await crowd[1].admin.grow("t", 4) == new, "a topic never shrinks"


@simulated
async def test_concurrent_config_changes_are_all_kept(world: World) -> None:
    crowd = await several(world, Heads(), 4)
    await crowd[0].admin.create("t", 1, {})

    async def add(process: Process, key: str) -> None:
        def change(topic: Topic) -> Mapping[str, str]:
            return {**topic.configs, key: "1"}

        await process.admin.configure("t", change)

    await asyncio.gather(*(add(one, key) for one, key in zip(crowd, "abcd", strict=True)))
    found = await crowd[0].catalog.fresh("t")
    assert found is not None
    assert sorted(found.configs) == ["a", "b", "c", "d"]


@simulated
async def test_config_change_that_raises_or_has_no_effect_writes_nothing(world: World) -> None:
    client = world.client()
    process = await start_process(world, client, Heads())
    await process.admin.create("t", 1, {"a": "1"})
    commits = client.link.calls["commit"]

    def refuse(_: Topic) -> Mapping[str, str]:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await process.admin.configure("t", refuse)
    assert (await process.admin.configure("t", lambda topic: topic.configs)).configs == {"a": "1"}
    assert client.link.calls["commit"] == commits


@simulated
async def test_changing_an_unknown_topic_raises_topic_unknown(world: World) -> None:
    (process,) = await several(world, Heads(), 1)
    with pytest.raises(TopicUnknown):
        await process.admin.grow("t", 2)
    with pytest.raises(TopicUnknown):
        await process.admin.configure("t", lambda topic: topic.configs)
    with pytest.raises(TopicUnknown):
        await process.admin.delete("t", b"\0" * 16)
    assert (
        process.catalog.find("t"),
        await process.catalog.fresh("t"),
        await process.catalog.fresh_id(b"\1" * 16),
    ) == (
        None,
        None,
        None,
    )


@simulated
async def test_recreated_topic_has_another_id_and_other_streams(world: World) -> None:
    heads = Heads()
    one, two = await several(world, heads, 2)
    old = await one.admin.create("t", 1, {})
    assert await one.admin.delete("t", old.topic_id) == old
    assert heads.condemned == set(old.streams)
    new = await one.admin.create("t", 1, {})
    assert old.topic_id != new.topic_id
    assert set(old.streams).isdisjoint(new.streams)
    assert (one.catalog.find_id(old.topic_id), one.catalog.find_id(new.topic_id)) == (None, new)
    with pytest.raises(TopicUnknown, match="created again"):
        await two.admin.delete("t", old.topic_id)
    assert await two.catalog.fresh_id(old.topic_id) is None
    assert await two.catalog.fresh("t") == new


@simulated
async def test_name_deleted_by_another_process_can_be_reused_at_once(world: World) -> None:
    one, two = await several(world, Heads(), 2)
    old = await one.admin.create("t", 1, {})
    await two.catalog.fresh("t")
    await one.admin.delete("t", old.topic_id)
    assert (await two.admin.create("t", 1, {})).topic_id != old.topic_id


@simulated
async def test_one_of_several_concurrent_deletions_succeeds(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 4)
    made = await crowd[0].admin.create("t", 2, {})
    outcomes = await asyncio.gather(
        *(one.admin.delete("t", made.topic_id) for one in crowd), return_exceptions=True
    )
    assert outcomes.count(made) == 1
    assert sum(isinstance(one, TopicUnknown) for one in outcomes) == 3
    await world.settle()
    assert all(one.catalog.all() == [] for one in crowd)


@simulated
async def test_finish_deletions_may_run_concurrently_and_repeatedly(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 3)
    keep = await crowd[0].admin.create("keep", 2, {})
    gone = [await crowd[0].admin.create(f"gone-{number}", 2, {}) for number in range(3)]
    for topic in gone:
        await crowd[0].admin.delete(topic.name, topic.topic_id)
    assert len(heads.present) == 8, "deletion does not wait for the removal of streams"
    await asyncio.gather(*(one.admin.finish_deletions() for one in crowd))
    await crowd[0].admin.finish_deletions()
    assert heads.present == set(keep.streams)


@simulated
async def test_interrupted_removal_is_finished_later(world: World) -> None:
    heads, client = Heads(), world.client()
    process = await start_process(world, client, heads)
    made = await process.admin.create("t", 2, {})
    await process.admin.delete("t", made.topic_id)
    heads.broken = True
    with pytest.raises(Unavailable):
        await process.admin.finish_deletions()
    assert len(await client.meta.scan(CLUSTER_DOMAIN, *deleted_topics_range())) == 1
    heads.broken = False
    await process.admin.finish_deletions()
    assert await client.meta.scan(CLUSTER_DOMAIN, *deleted_topics_range()) == []
    assert heads.present == set()


@pytest.mark.slow
@simulated
async def test_ids_of_deleted_topics_are_forgotten(world: World) -> None:
    (process,) = await several(world, Heads(), 1)
    keep = await process.admin.create("keep", 1, {})
    for number in range(1_100):
        made = await process.admin.create(f"t{number}", 1, {})
        await process.admin.delete(made.name, made.topic_id)
    await process.admin.finish_deletions()
    assert process.catalog.find_id(keep.topic_id) == keep
    assert len(process.catalog._keys) == 1


@pytest.mark.slow
@simulated
async def test_topics_are_known_by_id_after_start(world: World) -> None:
    (process,) = await several(world, Heads(), 1)
    made = [await process.admin.create(f"t{number}", 1, {}) for number in range(1_100)]
    (other,) = await several(world, Heads(), 1)
    assert [other.catalog.find_id(topic.topic_id) for topic in made] == made


@simulated
async def test_streams_of_topics_are_distinct(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 3)
    made = [one.admin.create(f"t{number}", 4, {}) for number, one in enumerate(crowd * 4)]
    topics = await asyncio.gather(*made)
    await world.settle()
    assert len(heads.present) == 48 == len(streams_of(crowd[0].catalog))
    assert len({topic.topic_id for topic in topics}) == 12


def test_streams_of_a_topic_have_consecutive_ids() -> None:
    assert neighboring_streams(7, 3) == (7, 8, 9)
    assert neighboring_streams(2**64 - 1, 2) == (2**64 - 1, 0)
