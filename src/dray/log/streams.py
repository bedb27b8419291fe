"""Streams in the metadata store: creation and deletion, which need no running log.

Topic administration works on these three calls. A process without a broker, such as a bulk load that creates
its topic, uses them as they are; `Log` adds what it caches. A missing stream counts as deleted.
"""

from contextlib import suppress

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import StreamHead, encode_head
from dray.keyspace import head_key, log_domain
from dray.log.errors import StreamUnknown
from dray.log.settings import LogSettings
from dray.log.trim import Trimmer
from dray.meta.port import ABSENT, Check, Conflict, MetaStore, Put
from dray.runtime import Clock


class StreamWriter:
    """Creates and deletes the streams of a cluster."""

    def __init__(self, meta: MetaStore, domains: int, clock: Clock, settings: LogSettings) -> None:
        self._meta = meta
        self._trimmers = [Trimmer(meta, MetaDomain(number), clock, settings) for number in range(domains)]

    async def create_stream(self, stream: StreamId) -> None:
        """Create an empty stream; an existing one is left as it is."""
        domain, key = self._domain(stream), head_key(stream)
        put = Put(key, encode_head(StreamHead()))
        made = await self._meta.commit(log_domain(domain), [Check(key, ABSENT)], [put])
        if isinstance(made, Conflict):
            await self._trimmers[domain].finish_deletion(stream)  # does nothing unless one is half deleted
            await self._meta.commit(log_domain(domain), [Check(key, ABSENT)], [put])

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
