"""Topic administration: topics are created, grown, configured and deleted, each by one commit on one key.

The heads of a topic's streams are created before its record, so a topic that can be seen can be written to.
If its record is not written then, the sweep removes them (see `new_streams`).

Deleting moves the streams into a second record in the same commit and then condemns them: from then on no
broker appends to them, even if it still has the topic in its catalog. The sweep removes them later.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol
from uuid import UUID

import msgspec

from dray.cluster.new_streams import Creation, begin_creation, unfinished_creations
from dray.cluster.topics import Topic, TopicCatalog
from dray.ids import StreamId
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, deleted_topic_key, deleted_topics_range, topic_key
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaStore, Put, Unavailable, Version
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
        topic_id = self._entropy.token(16)
        new = await self._create_streams(UUID(bytes=topic_id), name, partitions)
        topic = Topic(name, topic_id, new.streams, dict(configs), self._clock.now_ms())
        if not await self._replace(topic, ABSENT, new):
            raise TopicExists(f"Topic '{name}' already exists.")
        return topic

    async def grow(self, name: str, partitions: int) -> Topic:
        """Add partitions until there are `partitions`; a topic never shrinks."""
        while True:
            topic, version = await self._present(name)
            missing = partitions - len(topic.streams)
            if missing <= 0:
                return topic
            new = await self._create_streams(UUID(bytes=self._entropy.token(16)), name, missing)
            grown = msgspec.structs.replace(topic, streams=topic.streams + new.streams)
            if await self._replace(grown, version, new):
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
        """Remove the streams of deleted topics and of unfinished creations.

        Safe to repeat and to run in several processes at once.
        """
        for creation, record in await unfinished_creations(self._meta, self._clock):
            deleted = DeletedTopic(record.topic, record.streams)
            put = Put(deleted_topic_key(creation.id), _encoder.encode(deleted))
            await self._meta.commit(CLUSTER_DOMAIN, [creation.check], [creation.delete, put])
        for found in await self._meta.scan(CLUSTER_DOMAIN, *deleted_topics_range()):
            await self._remove(decode_deleted_topic(found.key, found.value).streams)
            await self._meta.commit(CLUSTER_DOMAIN, [Check(found.key, found.version)], [Delete(found.key)])
        self._catalog.forget_deleted_ids()

    async def _present(self, name: str) -> tuple[Topic, Version]:
        found = await self._catalog.refresh(name)
        if found is None:
            raise TopicUnknown(f"This server does not host the topic '{name}'.")
        return found

    async def _replace(self, topic: Topic, version: Version, new: Creation | None = None) -> bool:
        """Write the topic unless it has changed since that version; then the streams of `new` are removed."""
        key = topic_key(topic.name)
        result = await self._meta.commit(
            CLUSTER_DOMAIN,
            [Check(key, version), *([] if new is None else [new.check])],
            [Put(key, _encoder.encode(topic)), *([] if new is None else [new.delete])],
        )
        await self._catalog.refresh(topic.name)
        if not isinstance(result, Conflict):
            return True
        if new is not None:
            await self._abandon(new)
        if key not in result.keys:
            raise Unavailable(f"the creation of streams for topic '{topic.name}' took too long; try again")
        return False

    async def _create_streams(self, creation: UUID, topic: str, count: int) -> Creation:
        streams = neighboring_streams(int.from_bytes(self._entropy.token(8), "big"), count)
        new = await begin_creation(self._meta, creation, topic, streams, self._clock.now_ms())
        await self._streams.create_streams(streams)
        return new

    async def _abandon(self, new: Creation) -> None:
        """Remove streams that are not added to a topic."""
        await self._remove(new.streams)
        await self._meta.commit(CLUSTER_DOMAIN, [new.check], [new.delete])

    async def _remove(self, streams: Sequence[StreamId]) -> None:
        for stream in streams:
            await self._streams.delete_stream(stream)


def neighboring_streams(first: int, count: int) -> tuple[StreamId, ...]:
    """Return consecutive ids from a random one on, so that keys of the same topic are near each other.

    Clients write to many partitions of a topic at once, and a store that sorts its keys then changes few
    pages.
    """
    return tuple(StreamId((first + number) % 2**64) for number in range(count))
