"""The books after everything has come to rest: index, references and bucket must agree to the object."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from dray.ids import MetaDomain, StreamId, meta_domain
from dray.index import (
    IndexEntry,
    WalEntry,
    decode_entry,
    decode_head,
    decode_object,
    domain_name,
    entries_after,
    head_key,
    object_range,
)
from dray.meta.port import Domain, MetaStore
from dray.objects.port import ObjectStore


async def audit(
    meta: MetaStore, objects: ObjectStore, streams: Sequence[StreamId], domains: int
) -> list[str]:
    """Return what does not add up."""
    found: list[str] = []
    references: Counter[str] = Counter()
    for stream in streams:
        domain = Domain(domain_name(meta_domain(stream, domains)))
        entries = await _entries(meta, domain, stream)
        references.update(entry.wal_path for entry in entries if isinstance(entry, WalEntry))
        found += await _check_stream(meta, domain, stream, entries)
    recorded = await _recorded(meta, domains)
    if recorded != dict(references):
        found.append(f"books: the index refers to {dict(references)}, the objects' records say {recorded}")
    present = sorted([info.path async for info in objects.list("wal/")])
    if present != sorted(recorded):
        found.append(f"books: the bucket holds {present}, the records {sorted(recorded)}")
    return found


async def _entries(meta: MetaStore, domain: Domain, stream: StreamId) -> list[IndexEntry]:
    stored = await meta.scan(domain, *entries_after(stream, -1))
    return [decode_entry(found.key, found.value) for found in stored]


async def _check_stream(
    meta: MetaStore, domain: Domain, stream: StreamId, entries: Sequence[IndexEntry]
) -> list[str]:
    stored = await meta.get(domain, head_key(stream))
    if stored is None:
        return [f"books: stream {stream} has no head"]
    head = decode_head(stored.key, stored.value)
    found = []
    for before, after in pairwise(entries):
        if before.end_offset != after.start_offset:
            found.append(f"books: {stream}: entry to {before.end_offset}, the next from {after.start_offset}")
        if before.cumulative_size >= after.cumulative_size:
            found.append(f"books: {stream}: sizes do not grow at {after.start_offset}")
    if entries and entries[-1].end_offset != head.high_watermark:
        found.append(f"books: {stream}: entries end at {entries[-1].end_offset}, the head says {head}")
    if entries and not entries[0].start_offset <= head.log_start < entries[0].end_offset:
        found.append(f"books: {stream}: entries begin at {entries[0].start_offset}, the head says {head}")
    if not entries and head.log_start != head.high_watermark:
        found.append(f"books: {stream}: there are no entries, the head says {head}")
    return found


async def _recorded(meta: MetaStore, domains: int) -> dict[str, int]:
    recorded = {}
    for number in range(domains):
        domain = MetaDomain(number)
        for found in await meta.scan(Domain(domain_name(domain)), *object_range(domain)):
            wal_object = decode_object(found.key, found.value)
            recorded[wal_object.path] = wal_object.references
    return recorded
