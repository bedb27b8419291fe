"""Streams that have no topic yet, created in steps that a crash may interrupt.

The heads of a topic's streams are in several domains of the store, so no single commit can create them
together with the topic's record. They are created in three steps:

1. A record names the new streams.
2. Their heads are created.
3. One commit adds the streams to their topic, and deletes the record.

A record whose creation did not finish, because its process died or the store was unavailable, is found by the
sweep once it is older than any creation takes. The sweep first replaces it by that of a deleted topic, in one
commit: if the creation continues after all, its last commit finds the record gone and fails.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple
from uuid import UUID

import msgspec

from dray.ids import StreamId
from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, creation_of_key, new_streams_key, new_streams_range
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaStore, Put, Unavailable, Version
from dray.runtime import Clock

UNFINISHED_MS: Final = 3_600_000
"""A creation takes seconds; the clocks of brokers may differ by minutes."""


class NewStreams(msgspec.Struct, frozen=True, array_like=True, tag="ns1"):
    """Streams that are being created for a topic."""

    topic: str
    streams: tuple[StreamId, ...]
    begun_at_ms: int


class Creation(NamedTuple):
    """New streams, and the record that names them."""

    id: UUID
    streams: tuple[StreamId, ...]
    version: Version

    @property
    def check(self) -> Check:
        """The condition of the commit that adds the streams to their topic, or removes them."""
        return Check(new_streams_key(self.id), self.version)

    @property
    def delete(self) -> Delete:
        return Delete(new_streams_key(self.id))


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(NewStreams)


def decode_new_streams(key: str, value: bytes) -> NewStreams:
    return decoded(_decoder, key, value, "new streams")


async def begin_creation(
    meta: MetaStore, creation: UUID, topic: str, streams: Sequence[StreamId], now_ms: int
) -> Creation:
    """Write the record, before any of the streams is created."""
    record = NewStreams(topic, tuple(streams), now_ms)
    key = new_streams_key(creation)
    result = await meta.commit(CLUSTER_DOMAIN, [Check(key, ABSENT)], [Put(key, _encoder.encode(record))])
    if isinstance(result, Conflict):
        raise Unavailable(f"the id {creation} of a creation is in use; try again")
    return Creation(creation, record.streams, result.of[0])


async def unfinished_creations(meta: MetaStore, clock: Clock) -> list[tuple[Creation, NewStreams]]:
    """Return the creations that began so long ago that they cannot be in progress."""
    begun_until_ms = clock.now_ms() - UNFINISHED_MS
    found = [
        (Creation(creation_of_key(stored.key), record.streams, stored.version), record)
        for stored in await meta.scan(CLUSTER_DOMAIN, *new_streams_range())
        for record in [decode_new_streams(stored.key, stored.value)]
    ]
    return [(creation, record) for creation, record in found if record.begun_at_ms < begun_until_ms]
