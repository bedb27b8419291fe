"""Topic administration: topics are created, grown, configured and deleted, each by one commit on one key.

The heads of a topic's streams are created before its record, so a topic that can be seen can be written to.
Heads that a dying process leaves without a record are a few bytes that nothing refers to.

Deleting moves the streams into a second record in the same commit and then condemns them: from then on no
broker appends to them, even if it still has the topic in its catalog. The sweep removes them later.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import StreamId
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, deleted_topic_key, deleted_topics_range, topic_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaStore, Put, Version
from dray.runtime import Clock, Entropy, gather_bounded

_AT_ONCE: Final = 64
"""Streams that are condemned concurrently, so that the store may put many into one write."""


class TopicExists(Exception):
    """There is a topic of this name."""


class TopicNamesCollide(Exception):
    """There is a topic whose name differs only in dots and underscores; their metrics would mix."""


class TopicUnknown(Exception):
    """There is no such topic."""


class StreamAdmin(Protocol):
    """What topic administration needs of the log, which is in a package above this one."""

    async def create_streams(self, streams: Sequence[StreamId]) -> None: ...

    async def condemn_stream(self, stream: StreamId) -> None:
        """Refuse all appends to the stream and reads of it from now on; `delete_stream` removes it."""
        ...

    async def delete_stream(self, stream: StreamId) -> None: ...


class DeletedTopic(msgspec.Struct, frozen=True, array_like=True, tag="x1"):
    """The streams of a deleted topic that are still to be removed."""

    name: str
    streams: tuple[StreamId, ...]


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(DeletedTopic)


def decode_deleted_topic(key: str, value: bytes) -> DeletedTopic:
    return decoded(_decoder, key, value, "a deleted topic")


class TopicAdmin:
    """Changes topics; `catalog` shows each change as soon as the call returns."""

    def __init__(
        self, catalog: TopicCatalog, meta: MetaStore, streams: StreamAdmin, clock: Clock, entropy: Entropy
    ) -> None:
        self._catalog = catalog
        self._meta = meta
        self._streams = streams
        self._clock = clock
        self._entropy = entropy

    async def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        if await self._catalog.fresh(name) is not None:
            raise TopicExists(f"Topic '{name}' already exists.")
        other = self._catalog.colliding(name)
        if other is not None:
            raise TopicNamesCollide(f"Topic '{name}' collides with existing topic: {other.name}")
        topic = Topic(
            name,
            self._entropy.token(16),
            await self._new_streams(partitions),
            dict(configs),
            self._clock.now_ms(),
        )
        key = topic_key(name)
        result = await self._meta.commit(
            CLUSTER_DOMAIN, [Check(key, ABSENT)], [Put(key, _encoder.encode(topic))]
        )
        await self._catalog.refresh(topic.name)
        if isinstance(result, Conflict):
            await self._remove(topic.streams)
            raise TopicExists(f"Topic '{name}' already exists.")
        return topic

    async def grow(self, name: str, partitions: int) -> Topic:
        """Add partitions until there are `partitions`; a topic never shrinks."""
        added: tuple[StreamId, ...] = ()
        while True:
            topic, version = await self._present(name)
            missing = partitions - len(topic.streams)
            if missing <= 0:
                await self._remove(added)
                return topic
            added += await self._new_streams(missing - len(added))
            grown = msgspec.structs.replace(topic, streams=topic.streams + added[:missing])
            if await self._replace(grown, version):
                await self._remove(added[missing:])
                return grown

    async def configure(self, name: str, change: Callable[[Topic], Mapping[str, str]]) -> Topic:
        """Replace the configs by what `change` returns for the topic; it may be called more than once."""
        while True:
            topic, version = await self._present(name)
            changed = msgspec.structs.replace(topic, configs=dict(change(topic)))
            if changed == topic or await self._replace(changed, version):
                return changed

    async def delete(self, name: str, topic_id: bytes) -> Topic:
        """Delete the topic of this name and id; a topic created again under this name is another one."""
        while True:
            topic, version = await self._present(name)
            if topic.topic_id != topic_id:
                raise TopicUnknown(f"The topic '{name}' was deleted and created again.")
            key, tomb = topic_key(name), deleted_topic_key(topic.uuid)
            result = await self._meta.commit(
                CLUSTER_DOMAIN,
                [Check(key, version)],
                [Delete(key), Put(tomb, _encoder.encode(DeletedTopic(name, topic.streams)))],
            )
            if not isinstance(result, Conflict):
                await self._catalog.refresh(topic.name)
                # A broker that has not seen the deletion yet must not accept records that are lost at once.
                await gather_bounded(self._streams.condemn_stream, topic.streams, _AT_ONCE)
                return topic

    async def finish_deletions(self) -> None:
        """Remove the streams of deleted topics; safe to repeat and to run in several processes at once."""
        for found in await self._meta.scan(CLUSTER_DOMAIN, *deleted_topics_range()):
            await self._remove(decode_deleted_topic(found.key, found.value).streams)
            await self._meta.commit(CLUSTER_DOMAIN, [Check(found.key, found.version)], [Delete(found.key)])
        self._catalog.forget_deleted_ids()

    async def _present(self, name: str) -> tuple[Topic, Version]:
        found = await self._catalog.refresh(name)
        if found is None:
            raise TopicUnknown(f"This server does not host the topic '{name}'.")
        return found

    async def _replace(self, topic: Topic, version: Version) -> bool:
        key = topic_key(topic.name)
        result = await self._meta.commit(
            CLUSTER_DOMAIN, [Check(key, version)], [Put(key, _encoder.encode(topic))]
        )
        await self._catalog.refresh(topic.name)
        return not isinstance(result, Conflict)

    async def _new_streams(self, count: int) -> tuple[StreamId, ...]:
        streams = neighboring_streams(int.from_bytes(self._entropy.token(8), "big"), count)
        await self._streams.create_streams(streams)
        return streams

    async def _remove(self, streams: Sequence[StreamId]) -> None:
        for stream in streams:
            await self._streams.delete_stream(stream)


def neighboring_streams(first: int, count: int) -> tuple[StreamId, ...]:
    """Return consecutive ids from a random one on, so that keys of the same topic are near each other.

    Clients write to many partitions of a topic at once, and a store that sorts its keys then changes few
    pages.
    """
    return tuple(StreamId((first + number) % 2**64) for number in range(count))
