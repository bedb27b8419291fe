"""Recorded differences between a topic's table and its index: written by the audit, shown by commands.

A module of its own because commands read the record where no library for tables is installed.
"""

import msgspec

from dray.index.stored import decoded
from dray.keyspace import CLUSTER_DOMAIN, differences_key, differences_range
from dray.maintenance.differences import Difference
from dray.meta.port import Check, Delete, MetaStore, Put
from dray.meta.reading import scan_all

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(tuple[Difference, ...])


async def known_differences(meta: MetaStore, topic_id: bytes) -> tuple[Difference, ...]:
    """Return the differences that the last audit of a topic's table has found."""
    key = differences_key(topic_id)
    stored = await meta.get(CLUSTER_DOMAIN, key)
    return () if stored is None else decoded(_decoder, key, stored.value, "differences of a table")


async def record_differences(meta: MetaStore, topic_id: bytes, differences: tuple[Difference, ...]) -> None:
    """Replace what is recorded for a topic."""
    key = differences_key(topic_id)
    stored = await meta.get(CLUSTER_DOMAIN, key)
    if stored is None and not differences:
        return
    value = _encoder.encode(differences)
    if stored is None or stored.value != value:
        write = Put(key, value) if differences else Delete(key)
        await meta.commit(CLUSTER_DOMAIN, [], [write])


async def forget_differences(meta: MetaStore, kept: set[bytes]) -> None:
    """Delete the records of topics other than these."""
    keys = {differences_key(topic_id) for topic_id in kept}
    async for stored in scan_all(meta, CLUSTER_DOMAIN, differences_range()):
        if stored.key not in keys:
            check = Check(stored.key, stored.version)
            await meta.commit(CLUSTER_DOMAIN, [check], [Delete(stored.key)])
