"""Audit of an idle cluster: the index, the records of WAL objects and the bucket must agree exactly."""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import IndexEntry, WalEntry, decode_entry, decode_head, decode_object
from dray.keyspace import entries_after, head_key, log_domain, wal_object_range
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore


async def audit(
    meta: MetaStore, objects: ObjectStore, streams: Sequence[StreamId], domains: int
) -> list[str]:
    """Return the discrepancies."""
    found: list[str] = []
    references: Counter[str] = Counter()
    for stream in streams:
        domain = log_domain(meta_domain(stream, domains))
        entries = await _entries(meta, domain, stream)
        references.update(entry.wal_path for entry in entries if isinstance(entry, WalEntry))
        found += await _check_stream(meta, domain, stream, entries)
    recorded = await _recorded(meta, domains)
    if recorded != dict(references):
        found.append(f"audit: the index has references {dict(references)}, the objects' records {recorded}")
    present = sorted([info.path async for info in objects.list("wal/")])
    if present != sorted(recorded):
        found.append(f"audit: the bucket holds {present}, the records name {sorted(recorded)}")
    return found


async def _entries(meta: MetaStore, domain: Domain, stream: StreamId) -> list[IndexEntry]:
    stored = await meta.scan(domain, *entries_after(stream, -1))
    return [decode_entry(found.key, found.value) for found in stored]


async def _check_stream(
    meta: MetaStore, domain: Domain, stream: StreamId, entries: Sequence[IndexEntry]
) -> list[str]:
    stored = await meta.get(domain, head_key(stream))
    if stored is None:
        return [f"audit: stream {stream} has no head"]
    head = decode_head(stored.key, stored.value)
    found = []
    for before, after in pairwise(entries):
        if before.end_offset != after.start_offset:
            found.append(f"audit: {stream}: entries to {before.end_offset} and from {after.start_offset}")
        if before.cumulative_size >= after.cumulative_size:
            found.append(f"audit: {stream}: cumulative size does not increase at {after.start_offset}")
    if entries and entries[-1].end_offset != head.high_watermark:
        found.append(f"audit: {stream}: entries end at {entries[-1].end_offset}, the head is {head}")
    if entries and not entries[0].start_offset <= head.log_start < entries[0].end_offset:
        found.append(f"audit: {stream}: entries begin at {entries[0].start_offset}, the head is {head}")
    if not entries and head.log_start != head.high_watermark:
        found.append(f"audit: {stream}: there are no entries, the head is {head}")
    return found


async def _recorded(meta: MetaStore, domains: int) -> dict[str, int]:
    recorded = {}
    for number in range(domains):
        domain = MetaDomain(number)
        for found in await meta.scan(log_domain(domain), *wal_object_range(domain)):
            wal_object = decode_object(found.key, found.value)
            recorded[wal_object.path] = wal_object.references
    return recorded
