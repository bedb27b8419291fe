"""Streams in the metadata store: creation and deletion, which need no running log.

Topic administration works on these three calls. A process without a broker, such as a bulk load that creates
its topic, uses them as they are; `Log` adds what it caches. A missing stream counts as deleted.
"""

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import StreamHead, encode_head
from dray.keyspace import head_key, log_domain
from dray.log.errors import StreamUnknown
from dray.log.settings import LogSettings
from dray.log.trim import Trimmer
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put
from dray.runtime import Clock, gather_bounded

_COMMITS_AT_ONCE: Final = 4
_HEADS_AT_ONCE: Final = 128
"""A commit of more takes so long on a slow store that it may time out."""
_HEAD_BYTES: Final = 256
"""Upper bound of a new head in a commit, with its key three times."""


class StreamWriter:
    """Creates and deletes the streams of a cluster."""

    def __init__(self, meta: MetaStore, domains: int, clock: Clock, settings: LogSettings) -> None:
        self._meta = meta
        self._trimmers = [Trimmer(meta, MetaDomain(number), clock, settings) for number in range(domains)]

    async def create_streams(self, streams: Sequence[StreamId]) -> None:
        """Create empty streams, many in one commit; existing ones are left as they are."""
        limits = self._meta.limits
        most = min(limits.checks_max, limits.writes_max, limits.bytes_max // _HEAD_BYTES, _HEADS_AT_ONCE)
        commits = [
            part[at : at + most]
            for _, found in groupby(sorted(streams, key=self._domain), self._domain)
            for part in [list(found)]
            for at in range(0, len(part), most)
        ]
        await gather_bounded(self._create_together, commits, _COMMITS_AT_ONCE)

    async def _create_together(self, streams: Sequence[StreamId]) -> None:
        """Create streams of one domain in one commit, without those that exist."""
        while streams:
            existing = await self._put_heads(streams)
            for stream in existing:
                # Does nothing unless the stream is half deleted.
                await self._trimmers[self._domain(stream)].finish_deletion(stream)
                await self._put_heads([stream])
            streams = [stream for stream in streams if stream not in existing] if existing else []

    async def _put_heads(self, streams: Sequence[StreamId]) -> set[StreamId]:
        """Create all of the streams, or none: then return at least some that exist."""
        keys = {head_key(stream): stream for stream in streams}
        value = encode_head(StreamHead())
        made = await self._meta.commit(
            log_domain(self._domain(streams[0])),
            [Check(key, ABSENT) for key in keys],
            [Put(key, value) for key in keys],
        )
        return {keys[key] for key in made.keys} if isinstance(made, Conflict) else set()

    async def condemn_stream(self, stream: StreamId) -> None:
        """End appends to a stream and reads of it; `delete_stream` removes what is left."""
        with suppress(StreamUnknown):
            await self._trimmers[self._domain(stream)].condemn(stream)

    async def delete_stream(self, stream: StreamId) -> None:
        """Delete a stream and everything in it."""
        with suppress(StreamUnknown):
            await self._trimmers[self._domain(stream)].delete(stream)

    def _domain(self, stream: StreamId) -> MetaDomain:
        return meta_domain(stream, len(self._trimmers))
