"""Topics: made, found, grown, configured and deleted, each by one commit on one key.

A topic's record holds its id, its streams and its configs. The streams' heads are made before the record, so
a topic that can be seen can be written to; heads that a dying process left without a record are a few bytes
that nobody finds.

Deleting moves the streams into a second record in the same commit, and then condemns them: nobody can append
to them from then on, whatever it still believes of the topic. The sweep removes them. A topic made again
under the same name has another id and other streams.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from uuid import UUID

import msgspec

from dray.cluster.configs import TopicConfig
from dray.cluster.keys import (
    CLUSTER_DOMAIN,
    TOPICS_PREFIX,
    deleted_key,
    deleted_range,
    topic_key,
    topics_range,
)
from dray.cluster.stored import decoded
from dray.cluster.view import Directory, View
from dray.ids import StreamId, TopicRef
from dray.meta.port import ABSENT, Check, Conflict, Delete, Entry, MetaStore, Put, Version
from dray.runtime import Clock, Entropy, Tasks, side_by_side


class Topic(msgspec.Struct, frozen=True, array_like=True, tag="t1"):
    """A topic as it is stored."""

    name: str
    topic_id: bytes
    streams: tuple[StreamId, ...]
    """One a partition, by its number."""
    configs: dict[str, str]
    created_at_ms: int

    @property
    def ref(self) -> TopicRef:
        return TopicRef(self.name, self.topic_id)

    @property
    def uuid(self) -> UUID:
        return UUID(bytes=self.topic_id)

    @property
    def config(self) -> TopicConfig:
        return TopicConfig(self.configs)


class _Deleted(msgspec.Struct, frozen=True, array_like=True, tag="x1"):
    """Streams of a topic that is no more."""

    name: str
    streams: tuple[StreamId, ...]


class TopicExists(Exception):
    """There is a topic of this name."""


class TopicNamesCollide(Exception):
    """There is a topic whose name differs only in dots and underscores; their metrics would mix."""


class TopicUnknown(Exception):
    """There is no such topic."""


class Streams:
    """What topics need of the log, which lies above this room: given by whoever puts the process together."""

    def __init__(
        self,
        create: Callable[[StreamId], Awaitable[None]],
        condemn: Callable[[StreamId], Awaitable[None]],
        delete: Callable[[StreamId], Awaitable[None]],
    ) -> None:
        self.create = create
        self.condemn = condemn
        """Let nobody use it any more; what is left of it is for `delete`."""
        self.delete = delete


_FORGOTTEN_IDS = 1_000
_AT_ONCE = 64
"""Streams whose heads are written side by side, so that the store may put many in one write."""
_encoder = msgspec.msgpack.Encoder()
_topics = msgspec.msgpack.Decoder(Topic)
_deleted = msgspec.msgpack.Decoder(_Deleted)


class Topics:
    """The topics of the cluster."""

    def __init__(self, meta: MetaStore, streams: Streams, clock: Clock, entropy: Entropy) -> None:
        self._meta = meta
        self._streams = streams
        self._clock = clock
        self._entropy = entropy
        directory = Directory(CLUSTER_DOMAIN, TOPICS_PREFIX, topics_range(), self._decode)
        self._view: View[tuple[Topic, Version]] = View(meta, directory, clock)
        self._keys: dict[bytes, str] = {}
        """Topic id to key, of topics that are there or were; the view knows which."""

    async def start(self, tasks: Tasks) -> None:
        await self._view.start(tasks)

    @property
    def version(self) -> int:
        """Another number whenever a topic was made, changed or deleted, as far as this process knows."""
        return self._view.version

    def all(self) -> list[Topic]:
        return sorted((topic for topic, _ in self._view.values()), key=lambda topic: topic.name)

    def find(self, name: str) -> Topic | None:
        """Return the topic as it was a moment ago."""
        found = self._view.get(topic_key(name))
        return None if found is None else found[0]

    def find_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic as it was a moment ago."""
        found = self._view.get(self._keys.get(topic_id, ""))
        return None if found is None or found[0].topic_id != topic_id else found[0]

    async def fresh(self, name: str) -> Topic | None:
        """Return the topic as it is now."""
        found = await self._view.refresh(topic_key(name))
        return None if found is None else found[0]

    async def fresh_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic as it is now; costs a scan of all topics if it is not known yet."""
        known = self.find_id(topic_id)
        if known is None:
            await self._view.refresh_all()
        else:
            await self.fresh(known.name)
        return self.find_id(topic_id)

    async def create(self, name: str, partitions: int, configs: Mapping[str, str]) -> Topic:
        if await self.fresh(name) is not None:
            raise TopicExists(f"Topic '{name}' already exists.")
        other = self.colliding(name)
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
        await self._view.refresh(key)
        if isinstance(result, Conflict):
            await self._remove(topic.streams)
            raise TopicExists(f"Topic '{name}' already exists.")
        return topic

    def colliding(self, name: str) -> Topic | None:
        """Return a topic whose name would give the same metric names as `name`, though it differs."""
        folded = name.replace(".", "_")
        return next(
            (topic for topic in self.all() if topic.name != name and topic.name.replace(".", "_") == folded),
            None,
        )

    async def grow(self, name: str, partitions: int) -> Topic:
        """Add partitions until there are `partitions`; the caller has checked that this is more."""
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
        """Replace the configs by what `change` makes of the topic; it may be called more than once."""
        while True:
            topic, version = await self._present(name)
            changed = msgspec.structs.replace(topic, configs=dict(change(topic)))
            if changed == topic or await self._replace(changed, version):
                return changed

    async def delete(self, name: str, topic_id: bytes) -> Topic:
        """Delete the topic of this name and id; one made again under the name is another topic."""
        while True:
            topic, version = await self._present(name)
            if topic.topic_id != topic_id:
                raise TopicUnknown(f"The topic '{name}' was deleted and made again.")
            key, tomb = topic_key(name), deleted_key(topic.uuid)
            result = await self._meta.commit(
                CLUSTER_DOMAIN,
                [Check(key, version)],
                [Delete(key), Put(tomb, _encoder.encode(_Deleted(name, topic.streams)))],
            )
            if not isinstance(result, Conflict):
                await self._view.refresh(key)
                # Who has not heard of it yet must not take records that nobody would ever find.
                await side_by_side(self._streams.condemn, topic.streams, _AT_ONCE)
                return topic

    async def finish_deletions(self) -> None:
        """Remove the streams of deleted topics; safe to repeat, and to be done by several at once.

        Ids of topics that are long gone are forgotten on the way.
        """
        for found in await self._meta.scan(CLUSTER_DOMAIN, *deleted_range()):
            await self._remove(decoded(_deleted, found, "a deleted topic").streams)
            await self._meta.commit(CLUSTER_DOMAIN, [Check(found.key, found.version)], [Delete(found.key)])
        if len(self._keys) > 2 * len(self._view.values()) + _FORGOTTEN_IDS:
            self._keys = {known.topic_id: topic_key(known.name) for known, _ in self._view.values()}

    def _decode(self, entry: Entry) -> tuple[Topic, Version]:
        topic = decoded(_topics, entry, "a topic")
        self._keys[topic.topic_id] = entry.key
        return topic, entry.version

    async def _present(self, name: str) -> tuple[Topic, Version]:
        found = await self._view.refresh(topic_key(name))
        if found is None:
            raise TopicUnknown(f"This server does not host the topic '{name}'.")
        return found

    async def _replace(self, topic: Topic, version: Version) -> bool:
        key = topic_key(topic.name)
        result = await self._meta.commit(
            CLUSTER_DOMAIN, [Check(key, version)], [Put(key, _encoder.encode(topic))]
        )
        await self._view.refresh(key)
        return not isinstance(result, Conflict)

    async def _new_streams(self, count: int) -> tuple[StreamId, ...]:
        streams = tuple(StreamId(int.from_bytes(self._entropy.token(8), "big")) for _ in range(count))
        await side_by_side(self._streams.create, streams, _AT_ONCE)
        return streams

    async def _remove(self, streams: Sequence[StreamId]) -> None:
        for stream in streams:
            await self._streams.delete(stream)
