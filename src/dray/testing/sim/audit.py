"""Audit of an idle cluster: the index, the records of WAL objects and the bucket must agree exactly."""

from collections import Counter
from collections.abc import Sequence

from dray.check.chain import EntryAt, HeadAt, StreamChain
from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import WalEntry, decode_entry, decode_head, decode_object
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
        references.update(at.entry.wal_path for at in entries if isinstance(at.entry, WalEntry))
        found += await _check_stream(meta, domain, stream, entries)
    recorded = await _recorded(meta, domains)
    if recorded != dict(references):
        found.append(f"audit: the index has references {dict(references)}, the objects' records {recorded}")
    present = sorted([info.path async for info in objects.list("wal/")])
    if present != sorted(recorded):
        found.append(f"audit: the bucket holds {present}, the records name {sorted(recorded)}")
    return found


async def _entries(meta: MetaStore, domain: Domain, stream: StreamId) -> list[EntryAt]:
    stored = await meta.scan(domain, *entries_after(stream, -1))
    return [EntryAt(found.key, found.version, decode_entry(found.key, found.value)) for found in stored]


async def _check_stream(
    meta: MetaStore, domain: Domain, stream: StreamId, entries: Sequence[EntryAt]
) -> list[str]:
    stored = await meta.get(domain, head_key(stream))
    if stored is None:
        return [f"audit: stream {stream} has no head"]
    head = HeadAt(decode_head(stored.key, stored.value), stored.version)
    chain = StreamChain(domain, stream, head)
    for at in entries:
        chain.add(at)
    found = [f"audit: {stream}: {one.what}: {one}" for one in chain.finish(head)]
    if entries and entries[0].entry.end_offset <= head.head.log_start:
        found.append(f"audit: {stream}: expired entries are left, the head is {head.head}")
    return found


async def _recorded(meta: MetaStore, domains: int) -> dict[str, int]:
    recorded = {}
    for number in range(domains):
        domain = MetaDomain(number)
        for found in await meta.scan(log_domain(domain), *wal_object_range(domain)):
            wal_object = decode_object(found.key, found.value)
            recorded[wal_object.path] = wal_object.references
    return recorded
