"""Head and index entries of a stream, read from the metadata store."""

from dataclasses import dataclass

import msgspec

from dray.cluster.identity_plan import ClusterRecord, IdentityError, decode_identity
from dray.cluster.topics import Topic
from dray.ids import MetaDomain, StreamId, meta_domain, missing_partition
from dray.index import CorruptValue, IndexEntry, StreamHead, decode_entry, decode_head
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY, entries_after, head_key, log_domain, topic_key
from dray.meta.port import MetaStore
from dray.server.errors import StartupError


@dataclass(frozen=True, slots=True)
class StreamIndex:
    """A stream's head and some of its entries; `more` if entries after them were left out."""

    stream: StreamId
    domain: MetaDomain
    head: StreamHead
    entries: list[IndexEntry]
    more: bool


async def stream_of(meta: MetaStore, topic: str, partition: int) -> StreamId:
    """Return the stream of a partition."""
    key = topic_key(topic)
    found = await meta.get(CLUSTER_DOMAIN, key)
    if found is None:
        raise StartupError(f"there is no topic '{topic}'")
    try:
        streams = msgspec.msgpack.decode(found.value, type=Topic).streams
    except msgspec.DecodeError as error:
        raise CorruptValue(f"{key} is not a topic: {error}") from error
    if partition >= len(streams):
        raise StartupError(missing_partition(topic, partition, len(streams)))
    return streams[partition]


async def read_index(meta: MetaStore, stream: StreamId, offset: int, limit: int) -> StreamIndex:
    """Return the head, and the entries from the one that covers `offset`."""
    number = meta_domain(stream, await _domains(meta))
    domain = log_domain(number)
    key = head_key(stream)
    found = await meta.get(domain, key)
    if found is None:
        raise StartupError(f"there is no stream {stream:016x}")
    entries = await meta.scan(domain, *entries_after(stream, offset), limit=limit + 1)
    return StreamIndex(
        stream,
        number,
        decode_head(key, found.value),
        [decode_entry(entry.key, entry.value) for entry in entries[:limit]],
        len(entries) > limit,
    )


async def _domains(meta: MetaStore) -> int:
    """Return the number of domains the cluster was created with, whatever the settings say."""
    found = await meta.get(CLUSTER_DOMAIN, CLUSTER_KEY)
    if found is None:
        raise StartupError("there is no cluster in the metadata store")
    try:
        what = f"key {CLUSTER_KEY} of the metadata store"
        return decode_identity(found.value, ClusterRecord, what).domains
    except IdentityError as error:
        raise CorruptValue(str(error)) from error
