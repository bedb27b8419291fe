"""Topics as they are stored at this moment, for whoever looks once and goes."""

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN, topic_key, topics_range
from dray.cluster.stored import decoded
from dray.cluster.topics import Topic
from dray.meta.port import MetaStore

_decoder = msgspec.msgpack.Decoder(Topic)


async def all_topics(meta: MetaStore) -> list[Topic]:
    """Return every topic, by name."""
    return [decoded(_decoder, found, "a topic") for found in await meta.scan(CLUSTER_DOMAIN, *topics_range())]


async def find_topic(meta: MetaStore, name: str) -> Topic | None:
    stored = await meta.get(CLUSTER_DOMAIN, topic_key(name))
    return None if stored is None else decoded(_decoder, stored, "a topic")
