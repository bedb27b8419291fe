"""Creation of streams that does not finish: after a crash, or while the store is unavailable."""

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from dray.cluster.new_streams import UNFINISHED_MS
from dray.cluster.topic_admin import TopicAdmin
from dray.cluster.topics import Topic, TopicCatalog, all_topics
from dray.ids import MetaDomain, StreamId
from dray.keyspace import (
    CLUSTER_DOMAIN,
    deleted_topics_range,
    heads_range,
    log_domain,
    new_streams_range,
    stream_of_head_key,
)
from dray.log import LogSettings
from dray.log.streams import StreamWriter
from dray.meta.memory import MemoryMetaStore
from dray.meta.port import Unavailable
from dray.runtime import Tasks
from dray.testing.entropy import SeededEntropy
from dray.testing.faulty_link import FaultyLink, FaultyLinkSettings
from dray.testing.nodes import Node, NodeCrashed
from dray.testing.virtual_loop import run
from tests.cluster.worlds import Client, World, simulated

_DOMAINS = 3
_PARTITIONS = 7
_STEPS_MAX = 200
_SLOW = FaultyLinkSettings(refused=0, request_lost=0, answer_lost=0, late=0)

Work = Callable[[TopicAdmin], Coroutine[Any, Any, Topic]]


class _WatchedStreams(StreamWriter):
    """Calls a function once streams are created."""

    created: Callable[[], None]

    async def create_streams(self, streams: Sequence[StreamId]) -> None:
        await super().create_streams(streams)
        self.created()


def _admin(world: World, meta: MemoryMetaStore, name: str) -> TopicAdmin:
    streams = StreamWriter(meta, _DOMAINS, world.clock, LogSettings())
    return TopicAdmin(TopicCatalog(meta, world.clock), meta, streams, world.clock, SeededEntropy(name))


def _slow_store(world: World, name: str) -> MemoryMetaStore:
    """Return a client with slow requests, so that its process can crash before and after each."""
    link = FaultyLink(SeededEntropy(name), _SLOW)
    return MemoryMetaStore(world.server, world.clock, SeededEntropy(name), tasks=Tasks(), link=link)


async def _heads(client: Client) -> set[StreamId]:
    keys = [
        found.key
        for number in range(_DOMAINS)
        for found in await client.meta.scan(log_domain(MetaDomain(number)), *heads_range())
    ]
    return {stream for key in keys if (stream := stream_of_head_key(key)) is not None}


async def _sweep_later(world: World, client: Client) -> None:
    await world.settle(UNFINISHED_MS / 1000 + 1)
    await _admin(world, client.meta, "sweep").finish_deletions()


async def _require_no_streams_without_a_topic(client: Client) -> None:
    topics = await all_topics(client.meta)
    assert await _heads(client) == {stream for topic in topics for stream in topic.streams}
    for records in (new_streams_range(), deleted_topics_range()):
        assert await client.meta.scan(CLUSTER_DOMAIN, *records) == []


async def _one_crash(crashing: list[Node], work: Work) -> bool:
    world = World()
    client = world.client("survivor")
    await _admin(world, client.meta, "first").create("grown", 2, {})
    node = Node("broker")
    crashing[:] = [node]
    finished = True
    try:
        await node.run(work(_admin(world, _slow_store(world, "broker"), "broker")))
    except NodeCrashed:
        finished = False
    await _sweep_later(world, client)
    await _require_no_streams_without_a_topic(client)
    if finished:
        assert _PARTITIONS in [len(topic.streams) for topic in await all_topics(client.meta)]
    return finished


@pytest.mark.parametrize(
    "work",
    [lambda admin: admin.create("t", _PARTITIONS, {}), lambda admin: admin.grow("grown", _PARTITIONS)],
    ids=["create", "grow"],
)
def test_crash_at_any_step_leaves_no_streams_without_a_topic(work: Work) -> None:
    for at in range(1, _STEPS_MAX):
        crashing: list[Node] = []

        def on_step(node: Node | None, at: int = at, crashing: list[Node] = crashing) -> None:
            if node is not None and node in crashing and node.steps == at:
                node.crash()

        if run(_one_crash(crashing, work), on_step=on_step):
            assert at > 10
            return
    raise AssertionError("the work never completed")


@simulated
async def test_streams_of_a_topic_whose_record_was_not_written_are_removed(world: World) -> None:
    client, broken = world.client("a"), world.client("b")
    streams = _WatchedStreams(broken.meta, _DOMAINS, world.clock, LogSettings())
    streams.created = lambda: broken.link.faults.update(commit="refuse")
    catalog = TopicCatalog(broken.meta, world.clock)
    admin = TopicAdmin(catalog, broken.meta, streams, world.clock, broken.entropy)
    with pytest.raises(Unavailable):
        await admin.create("t", _PARTITIONS, {})
    assert len(await _heads(client)) == _PARTITIONS
    broken.link.faults.clear()
    streams.created = lambda: None
    made = await admin.create("t", _PARTITIONS, {})
    await _sweep_later(world, client)
    assert await all_topics(client.meta) == [made]
    await _require_no_streams_without_a_topic(client)


@simulated
async def test_creation_in_progress_is_not_swept(world: World) -> None:
    client, slow = world.client("a"), world.client("b")
    answered = slow.link.hold("commit")
    creating = slow.tasks.start(_admin(world, slow.meta, "b").create("t", _PARTITIONS, {}), name="create")
    await world.settle(UNFINISHED_MS / 2 / 1000)
    await _admin(world, client.meta, "sweep").finish_deletions()
    answered.set()
    made = await creating
    assert await _heads(client) == set(made.streams)
    await _require_no_streams_without_a_topic(client)


@simulated
async def test_creation_that_was_swept_meanwhile_fails_and_removes_its_streams(world: World) -> None:
    client, slow = world.client("a"), world.client("b")
    answered = slow.link.hold("commit")
    creating = slow.tasks.start(_admin(world, slow.meta, "b").create("t", _PARTITIONS, {}), name="create")
    await _sweep_later(world, client)
    answered.set()
    with pytest.raises(Unavailable, match="took too long"):
        await creating
    assert await all_topics(client.meta) == []
    await _require_no_streams_without_a_topic(client)
