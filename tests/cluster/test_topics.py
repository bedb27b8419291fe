"""Topics: made once whoever makes them, grown, configured, deleted, and found by name and by id."""

import asyncio
from collections.abc import Mapping

import pytest

from dray.cluster.keys import CLUSTER_DOMAIN, deleted_range
from dray.cluster.topics import Streams, Topic, TopicExists, TopicNamesCollide, Topics, TopicUnknown
from dray.ids import StreamId
from dray.meta.port import Unavailable
from tests.cluster.worlds import Client, World, simulated


class Heads:
    """Stands for the log: which streams there are."""

    def __init__(self) -> None:
        self.present: set[StreamId] = set()
        self.condemned: set[StreamId] = set()
        self.broken = False

    async def create(self, stream: StreamId) -> None:
        await asyncio.sleep(0)
        assert stream not in self.present
        self.present.add(stream)

    async def condemn(self, stream: StreamId) -> None:
        await asyncio.sleep(0)
        self.condemned.add(stream)

    async def delete(self, stream: StreamId) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise Unavailable("refused by the test")
        self.present.discard(stream)


async def open_topics(world: World, client: Client, heads: Heads) -> Topics:
    topics = Topics(
        client.meta, Streams(heads.create, heads.condemn, heads.delete), world.clock, client.entropy
    )
    await topics.start(client.tasks)
    return topics


async def several(world: World, heads: Heads, count: int) -> list[Topics]:
    return [await open_topics(world, world.client(f"client {number}"), heads) for number in range(count)]


def streams_of(topics: Topics) -> set[StreamId]:
    return {stream for topic in topics.all() for stream in topic.streams}


@simulated
async def test_a_topic_is_there_when_it_was_made(world: World) -> None:
    heads = Heads()
    (topics,) = await several(world, heads, 1)
    made = await topics.create("t", 3, {"retention.ms": "5"})
    assert topics.find("t") == topics.find_id(made.topic_id) == await topics.fresh("t") == made
    assert (made.name, made.configs, made.created_at_ms) == ("t", {"retention.ms": "5"}, world.clock.now_ms())
    assert len(made.topic_id) == 16
    assert made.uuid.bytes == made.topic_id
    assert heads.present == set(made.streams)
    assert len(made.streams) == 3
    assert made.config.whole("retention.ms") == 5


@simulated
async def test_others_see_it_a_moment_later_or_at_once_if_they_ask(world: World) -> None:
    one, two = await several(world, Heads(), 2)
    made = await one.create("t", 1, {})
    assert await two.fresh("t") == made
    other = await one.create("u", 1, {})
    assert await two.fresh_id(other.topic_id) == other
    await one.create("v", 1, {})
    await world.settle()
    assert [topic.name for topic in two.all()] == ["t", "u", "v"]


@simulated
async def test_of_many_that_make_a_topic_at_once_one_does(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 5)
    outcomes = await asyncio.gather(*(one.create("t", 2, {}) for one in crowd), return_exceptions=True)
    (made,) = [one for one in outcomes if isinstance(one, Topic)]
    others = [one for one in outcomes if not isinstance(one, Topic)]
    assert all(isinstance(one, TopicExists) and str(one) == "Topic 't' already exists." for one in others)
    await world.settle()
    assert all(one.find("t") == made for one in crowd)
    assert heads.present == set(made.streams), "what the losers made is gone"


@simulated
async def test_names_that_differ_in_dots_and_underscores_collide(world: World) -> None:
    (topics,) = await several(world, Heads(), 1)
    await topics.create("a.b_c", 1, {})
    for name in ("a_b.c", "a_b_c", "a.b.c"):
        with pytest.raises(TopicNamesCollide, match=f"'{name}' collides with existing topic: a.b_c"):
            await topics.create(name, 1, {})
    await topics.create("a-b_c", 1, {})
    assert topics.colliding("a.b_c") is None


@simulated
async def test_growing_at_once_from_several_sides(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 4)
    old = await crowd[0].create("t", 2, {})
    await asyncio.gather(*(one.grow("t", count) for one, count in zip(crowd, (3, 5, 5, 4), strict=True)))
    new = await crowd[0].fresh("t")
    assert new is not None
    assert new.streams[:2] == old.streams
    assert len(new.streams) == 5
    assert heads.present == set(new.streams)
    assert await crowd[1].grow("t", 4) == new, "a topic never shrinks"


@simulated
async def test_changes_of_configs_at_once_are_all_kept(world: World) -> None:
    crowd = await several(world, Heads(), 4)
    await crowd[0].create("t", 1, {})

    async def add(topics: Topics, key: str) -> None:
        def change(topic: Topic) -> Mapping[str, str]:
            return {**topic.configs, key: "1"}

        await topics.configure("t", change)

    await asyncio.gather(*(add(one, key) for one, key in zip(crowd, "abcd", strict=True)))
    found = await crowd[0].fresh("t")
    assert found is not None
    assert sorted(found.configs) == ["a", "b", "c", "d"]


@simulated
async def test_a_change_that_raises_or_changes_nothing_writes_nothing(world: World) -> None:
    client = world.client()
    topics = await open_topics(world, client, Heads())
    await topics.create("t", 1, {"a": "1"})
    commits = client.link.calls["commit"]

    def refuse(_: Topic) -> Mapping[str, str]:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await topics.configure("t", refuse)
    assert (await topics.configure("t", lambda topic: topic.configs)).configs == {"a": "1"}
    assert client.link.calls["commit"] == commits


@simulated
async def test_what_is_not_there_cannot_be_changed(world: World) -> None:
    (topics,) = await several(world, Heads(), 1)
    with pytest.raises(TopicUnknown):
        await topics.grow("t", 2)
    with pytest.raises(TopicUnknown):
        await topics.configure("t", lambda topic: topic.configs)
    with pytest.raises(TopicUnknown):
        await topics.delete("t", b"\0" * 16)
    assert (topics.find("t"), await topics.fresh("t"), await topics.fresh_id(b"\1" * 16)) == (
        None,
        None,
        None,
    )


@simulated
async def test_a_topic_made_again_is_another_one(world: World) -> None:
    heads = Heads()
    one, two = await several(world, heads, 2)
    old = await one.create("t", 1, {})
    assert await one.delete("t", old.topic_id) == old
    assert heads.condemned == set(old.streams)
    new = await one.create("t", 1, {})
    assert old.topic_id != new.topic_id
    assert set(old.streams).isdisjoint(new.streams)
    assert (one.find_id(old.topic_id), one.find_id(new.topic_id)) == (None, new)
    with pytest.raises(TopicUnknown, match="made again"):
        await two.delete("t", old.topic_id)
    assert await two.fresh_id(old.topic_id) is None
    assert await two.fresh("t") == new


@simulated
async def test_a_name_that_another_process_freed_a_moment_ago_can_be_used(world: World) -> None:
    one, two = await several(world, Heads(), 2)
    old = await one.create("t", 1, {})
    await two.fresh("t")
    await one.delete("t", old.topic_id)
    assert (await two.create("t", 1, {})).topic_id != old.topic_id


@simulated
async def test_of_many_that_delete_at_once_one_does(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 4)
    made = await crowd[0].create("t", 2, {})
    outcomes = await asyncio.gather(
        *(one.delete("t", made.topic_id) for one in crowd), return_exceptions=True
    )
    assert outcomes.count(made) == 1
    assert sum(isinstance(one, TopicUnknown) for one in outcomes) == 3
    await world.settle()
    assert all(one.all() == [] for one in crowd)


@simulated
async def test_streams_of_deleted_topics_are_removed_whoever_does_it_and_however_often(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 3)
    keep = await crowd[0].create("keep", 2, {})
    gone = [await crowd[0].create(f"gone-{number}", 2, {}) for number in range(3)]
    for topic in gone:
        await crowd[0].delete(topic.name, topic.topic_id)
    assert len(heads.present) == 8, "deleting does not wait for it"
    await asyncio.gather(*(one.finish_deletions() for one in crowd))
    await crowd[0].finish_deletions()
    assert heads.present == set(keep.streams)


@simulated
async def test_a_removal_that_was_cut_short_is_finished_later(world: World) -> None:
    heads, client = Heads(), world.client()
    topics = await open_topics(world, client, heads)
    made = await topics.create("t", 2, {})
    await topics.delete("t", made.topic_id)
    heads.broken = True
    with pytest.raises(Unavailable):
        await topics.finish_deletions()
    assert len(await client.meta.scan(CLUSTER_DOMAIN, *deleted_range())) == 1
    heads.broken = False
    await topics.finish_deletions()
    assert await client.meta.scan(CLUSTER_DOMAIN, *deleted_range()) == []
    assert heads.present == set()


@pytest.mark.slow
@simulated
async def test_ids_of_topics_that_are_gone_are_forgotten(world: World) -> None:
    (topics,) = await several(world, Heads(), 1)
    keep = await topics.create("keep", 1, {})
    for number in range(1_100):
        made = await topics.create(f"t{number}", 1, {})
        await topics.delete(made.name, made.topic_id)
    await topics.finish_deletions()
    assert topics.find_id(keep.topic_id) == keep
    assert len(topics._keys) == 1


@pytest.mark.slow
@simulated
async def test_many_topics_are_known_by_id_from_the_start(world: World) -> None:
    (topics,) = await several(world, Heads(), 1)
    made = [await topics.create(f"t{number}", 1, {}) for number in range(1_100)]
    (other,) = await several(world, Heads(), 1)
    assert [other.find_id(topic.topic_id) for topic in made] == made


@simulated
async def test_no_topic_has_a_stream_of_another(world: World) -> None:
    heads = Heads()
    crowd = await several(world, heads, 3)
    made = [one.create(f"t{number}", 4, {}) for number, one in enumerate(crowd * 4)]
    topics = await asyncio.gather(*made)
    await world.settle()
    assert len(heads.present) == 48 == len(streams_of(crowd[0]))
    assert len({topic.topic_id for topic in topics}) == 12
