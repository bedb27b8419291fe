"""Producer ids, allocated in blocks and never twice.

A block is allocated by one commit on one key. The rest of a dying process's block is lost, which is harmless.
"""

import asyncio

import msgspec

from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, PRODUCER_IDS_KEY
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put

_BLOCK = 1_000


class NextProducerId(msgspec.Struct, frozen=True, array_like=True, tag="n1"):
    """The first producer id that is not allocated."""

    producer_id: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(NextProducerId)


def encode_next_producer_id(producer_id: int) -> bytes:
    return _encoder.encode(NextProducerId(producer_id))


def decode_next_producer_id(key: str, value: bytes) -> int:
    return decoded(_decoder, key, value, "the next producer id").producer_id


class ProducerIds:
    """Allocates ids from blocks of this process."""

    def __init__(self, meta: MetaStore) -> None:
        self._meta = meta
        self._left = range(0)
        self._lock = asyncio.Lock()

    async def next(self) -> int:
        async with self._lock:
            if not self._left:
                self._left = await self._take_block()
            producer_id, self._left = self._left[0], self._left[1:]
            return producer_id

    async def _take_block(self) -> range:
        while True:
            stored = await self._meta.get(CLUSTER_DOMAIN, PRODUCER_IDS_KEY)
            start = 0 if stored is None else decode_next_producer_id(stored.key, stored.value)
            check = Check(PRODUCER_IDS_KEY, ABSENT if stored is None else stored.version)
            put = Put(PRODUCER_IDS_KEY, encode_next_producer_id(start + _BLOCK))
            if not isinstance(await self._meta.commit(CLUSTER_DOMAIN, [check], [put]), Conflict):
                return range(start, start + _BLOCK)
