"""A stream as it is now: what whoever plans its next job has to know of it."""

from dray.ids import StreamId
from dray.index import IndexEntry, StreamHead, decode_entry, entries_after
from dray.log.states import read_head
from dray.pipeline.parts import CompactionParts


async def read_stream(parts: CompactionParts, stream: StreamId) -> tuple[StreamHead, list[IndexEntry]]:
    """Return a stream's head and its readable entries; raises `StreamUnknown`."""
    domain = parts.jobs.store_domain(stream)
    head, _ = await read_head(parts.meta, domain, stream)
    stored = await parts.meta.scan(domain, *entries_after(stream, head.log_start))
    return head, [decode_entry(found.key, found.value) for found in stored]
