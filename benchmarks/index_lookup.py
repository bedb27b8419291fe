"""Lookup time of an index entry by offset, in a small and in a large index.

Bar: at most twice as long with a thousand times as many entries. Measured on the store itself, without the
cache.
"""

import asyncio
import tempfile
import time
from pathlib import Path
from random import Random

from benchmarks.figures import Figure
from dray.ids import MetaDomain, StreamId, WalId
from dray.index import BatchDraft, Chunk, StreamHead, assign, covers, decode_entry, encode_entry
from dray.keyspace import entries_after, entry_key, log_domain
from dray.meta.port import MetaStore, Put
from dray.meta.sqlite import SqliteMetaStore
from dray.runtime import SystemClock, SystemEntropy, Tasks

_DOMAIN = log_domain(MetaDomain(0))
_STREAM = StreamId(1)
_AT_ONCE = 5_000
_OFFSETS_AN_ENTRY = 10
_RATIO_MAX = 2.0


def run(
    *, seconds: float, sizes: tuple[int, int] = (1_000, 1_000_000), directory: Path | None = None
) -> list[Figure]:
    with tempfile.TemporaryDirectory(dir=directory, prefix="dray-index-") as name:
        small, large = (asyncio.run(_measure(Path(name) / str(size), size, seconds / 2)) for size in sizes)
    return [
        Figure(f"index lookup, {sizes[0]:,} entries", small * 1e6, "µs"),
        Figure(f"index lookup, {sizes[1]:,} entries", large * 1e6, "µs"),
        Figure("index lookup, large over small", large / small, "times", _RATIO_MAX, at_most=True),
    ]


async def _measure(path: Path, entries: int, seconds: float) -> float:
    clock, tasks = SystemClock(), Tasks()
    store = await SqliteMetaStore.open(path, clock=clock, entropy=SystemEntropy(), tasks=tasks)
    try:
        await _fill(store, entries)
        return await _look_up(store, entries * _OFFSETS_AN_ENTRY, seconds)
    finally:
        await store.close()
        await tasks.stop()


async def _fill(store: MetaStore, entries: int) -> None:
    head = StreamHead()
    puts = []
    for number in range(entries):
        wal = WalId(number.to_bytes(16, "big"))
        place = Chunk(_STREAM, wal, f"wal/v1/zone=none/domain=0/date=2026/01/01/{wal.hex()}.wo", 49, 10_000)
        head, entry = assign(head, place, [BatchDraft(4, 9_990, _OFFSETS_AN_ENTRY, 1, 1, -1, -1, -1)], 1)
        puts.append(Put(entry_key(_STREAM, entry.end_offset, entry.cumulative_size), encode_entry(entry)))
        if len(puts) == _AT_ONCE or number == entries - 1:
            await store.commit(_DOMAIN, [], puts)
            puts = []


async def _look_up(store: MetaStore, offsets: int, seconds: float) -> float:
    random = Random(1)
    began, lookups = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        offset = random.randrange(offsets)
        (found,) = await store.scan(_DOMAIN, *entries_after(_STREAM, offset), limit=1)
        assert covers(decode_entry(found.key, found.value), offset)
        lookups += 1
    return (time.perf_counter() - began) / lookups
