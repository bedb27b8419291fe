"""Topics, and the catalog of them that every broker and compactor keeps in memory.

A topic's record holds its id, its streams and its configs. A topic that is created again under the same name
has another id and other streams. Topics are changed through `dray.cluster.topic_admin` only.
"""

from uuid import UUID

import msgspec

from dray.cluster.configs import TopicConfig
from dray.cluster.view import Directory, View
from dray.ids import StreamId, TopicRef
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, TOPICS_PREFIX, topic_key, topics_range
from dray.meta.port import Entry, MetaStore, Version
from dray.runtime import Clock, Tasks


class Topic(msgspec.Struct, frozen=True, array_like=True, tag="t1"):
    """A topic as it is stored."""

    name: str
    topic_id: bytes
    streams: tuple[StreamId, ...]
    """One per partition, by its number."""
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


_FORGOTTEN_IDS = 1_000
_decoder = msgspec.msgpack.Decoder(Topic)


def decode_topic(key: str, value: bytes) -> Topic:
    return decoded(_decoder, key, value, "a topic")


async def all_topics(meta: MetaStore) -> list[Topic]:
    """Read every topic from the store, by name."""
    return [
        decode_topic(found.key, found.value) for found in await meta.scan(CLUSTER_DOMAIN, *topics_range())
    ]


async def find_topic(meta: MetaStore, name: str) -> Topic | None:
    """Read one topic from the store."""
    stored = await meta.get(CLUSTER_DOMAIN, topic_key(name))
    return None if stored is None else decode_topic(stored.key, stored.value)


class TopicCatalog:
    """The topics of the cluster, kept current by a watch."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        directory = Directory(CLUSTER_DOMAIN, TOPICS_PREFIX, topics_range(), self._decode)
        self._view: View[tuple[Topic, Version]] = View(meta, directory, clock)
        self._keys: dict[bytes, str] = {}
        """Topic id to key, of topics that exist or existed; the view knows which."""

    async def start(self, tasks: Tasks) -> None:
        await self._view.start(tasks)

    @property
    def version(self) -> int:
        """A number that changes whenever this process sees a topic created, changed or deleted."""
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
        found = await self.refresh(name)
        return None if found is None else found[0]

    async def fresh_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic as it is now; scans all topics if this process does not know it yet."""
        known = self.find_id(topic_id)
        if known is None:
            await self._view.refresh_all()
        else:
            await self.fresh(known.name)
        return self.find_id(topic_id)

    async def refresh(self, name: str) -> tuple[Topic, Version] | None:
        """Read the topic now, and return it with the version of its key."""
        return await self._view.refresh(topic_key(name))

    def colliding(self, name: str) -> Topic | None:
        """Return a topic whose name would give the same metric names as `name`, though it differs."""
        folded = name.replace(".", "_")
        return next(
            (topic for topic in self.all() if topic.name != name and topic.name.replace(".", "_") == folded),
            None,
        )

    def forget_deleted_ids(self) -> None:
        """Drop the ids of deleted topics once there are many of them."""
        if len(self._keys) > 2 * len(self._view.values()) + _FORGOTTEN_IDS:
            self._keys = {known.topic_id: topic_key(known.name) for known, _ in self._view.values()}

    def _decode(self, entry: Entry) -> tuple[Topic, Version]:
        topic = decode_topic(entry.key, entry.value)
        self._keys[topic.topic_id] = entry.key
        return topic, entry.version
