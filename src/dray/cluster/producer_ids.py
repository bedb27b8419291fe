"""Producer ids: given out in blocks, never twice.

A block is taken by one commit on one key; what a dying process had left of its block is lost, which is no
harm.
"""

import asyncio

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN, PRODUCER_IDS_KEY
from dray.cluster.stored import decoded
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put

_BLOCK = 1_000


class _Next(msgspec.Struct, frozen=True, array_like=True, tag="n1"):
    producer_id: int


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Next)


class ProducerIds:
    """Gives out the ids of this process's blocks."""

    def __init__(self, meta: MetaStore) -> None:
        self._meta = meta
        self._left = range(0)
        self._taking = asyncio.Lock()

    async def next(self) -> int:
        async with self._taking:
            if not self._left:
                self._left = await self._take_block()
            producer_id, self._left = self._left[0], self._left[1:]
            return producer_id

    async def _take_block(self) -> range:
        while True:
            stored = await self._meta.get(CLUSTER_DOMAIN, PRODUCER_IDS_KEY)
            start = 0 if stored is None else decoded(_decoder, stored, "the next producer id").producer_id
            check = Check(PRODUCER_IDS_KEY, ABSENT if stored is None else stored.version)
            put = Put(PRODUCER_IDS_KEY, _encoder.encode(_Next(start + _BLOCK)))
            if not isinstance(await self._meta.commit(CLUSTER_DOMAIN, [check], [put]), Conflict):
                return range(start, start + _BLOCK)
