"""Why topics are not compacted, kept in the metadata store for whoever asks later.

A compactor logs it as well, but nobody may have watched; `dray compaction status` shows what is kept here,
until a turn of the topic goes well. It is written when it changes, not at every turn that fails.

It is only told: what goes wrong in keeping it holds up no topic, and the next turn tries again.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from dray.cluster.keys import CLUSTER_DOMAIN
from dray.index import CorruptValue
from dray.index.keys import ROOT, children
from dray.index.stored import decoded
from dray.meta.port import ABSENT, Check, Delete, Entry, MetaError, MetaStore, Put
from dray.meta.scans import scan_all
from dray.runtime import Clock

_FAILED: Final = f"{ROOT}/compaction/failed/"


class Trouble(msgspec.Struct, frozen=True, array_like=True):
    """Since when a topic is not compacted, since when for this reason, and the reason."""

    since_ms: int
    changed_at_ms: int
    why: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Trouble)


def failed_key(topic_id: bytes) -> str:
    return f"{_FAILED}{topic_id.hex()}"


async def known_trouble(meta: MetaStore, topic_id: bytes) -> Trouble | None:
    """Return why a topic is not compacted, or None if its last turn went well."""
    stored = await meta.get(CLUSTER_DOMAIN, failed_key(topic_id))
    return None if stored is None else _decoded(stored)


def _decoded(stored: Entry) -> Trouble:
    return decoded(_decoder, stored.key, stored.value, "why a topic is not compacted")


class Troubles:
    """Keeps the troubles of topics; whoever notes or clears one holds the topic's lease."""

    def __init__(self, meta: MetaStore, clock: Clock) -> None:
        self._meta = meta
        self._clock = clock
        self._kept: dict[str, Entry] = {}
        """What was there when the turn began, so that a topic that is well costs no request."""

    async def before_turn(self, topic_ids: Iterable[bytes]) -> None:
        """See what is kept, and forget the troubles of topics other than these."""
        alive = set(map(failed_key, topic_ids))
        with suppress(MetaError):
            bounds = children(_FAILED)
            found = scan_all(self._meta, CLUSTER_DOMAIN, bounds)
            self._kept = {stored.key: stored async for stored in found}
            for key in self._kept.keys() - alive:
                await self._delete(key)

    async def note(self, topic_id: bytes, why: str) -> None:
        """Keep why the topic's turn failed, unless that is known."""
        key = failed_key(topic_id)
        with suppress(MetaError):
            stored = await self._meta.get(CLUSTER_DOMAIN, key)
            before = None if stored is None else _readable(stored)
            if before is not None and before.why == why:
                return
            now_ms = self._clock.now_ms()
            trouble = Trouble(now_ms if before is None else before.since_ms, now_ms, why)
            check = Check(key, ABSENT if stored is None else stored.version)
            await self._meta.commit(CLUSTER_DOMAIN, [check], [Put(key, _encoder.encode(trouble))])

    async def clear(self, topic_id: bytes) -> None:
        """Forget the topic's trouble: its turn went well."""
        key = failed_key(topic_id)
        if key in self._kept:
            with suppress(MetaError):
                await self._delete(key)

    async def _delete(self, key: str) -> None:
        check = Check(key, self._kept.pop(key).version)
        await self._meta.commit(CLUSTER_DOMAIN, [check], [Delete(key)])


def _readable(stored: Entry) -> Trouble | None:
    """Return what is kept; what cannot be read is written over."""
    with suppress(CorruptValue):
        return _decoded(stored)
    return None
