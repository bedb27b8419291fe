"""Throughput of one core encoding WAL objects and validating batches.

Bar: encoding a WAL object, CRC included, at 1 GB/s or more for batches of 16 KiB and of 1 MiB.

Run it with `python -m benchmarks wal`.
"""

import time
from collections.abc import Callable

from benchmarks.figures import Figure
from dray.formats import wal_v1
from dray.ids import MetaDomain, StreamId, WalId
from dray.records import (
    BatchRules,
    Record,
    TimestampType,
    encode_batch,
    parse_header,
    validate,
    with_offsets,
)

KIB = 1024
OBJECT_BYTES = 8 * KIB * KIB
STREAMS = 4
NOW_MS = 1_700_000_000_000


def run(*, seconds: float) -> list[Figure]:
    """Measure everything, for about `seconds` in all."""
    each = seconds / 6
    small, large = _batch(16 * KIB), _batch(KIB * KIB)
    stamped = BatchRules(timestamp_type=TimestampType.LOG_APPEND)
    return [
        _encode_figure("WAL encode, 16 KiB batches", small, each),
        _encode_figure("WAL encode, 1 MiB batches", large, each),
        _batch_figure("parse a header", lambda: parse_header(small), each),
        _batch_figure("validate 16 KiB", lambda: validate(small, BatchRules(), NOW_MS), each),
        _batch_figure("validate and stamp 16 KiB", lambda: validate(small, stamped, NOW_MS), each),
        _batch_figure("serve one batch", lambda: with_offsets(small, 1, 0), each),
    ]


def _batch(size_bytes: int) -> memoryview:
    """A batch of 1 KiB records, about `size_bytes` long."""
    value = bytes(range(256)) * 4
    records = [Record(offset, NOW_MS, None, value[:-20]) for offset in range(size_bytes // KIB)]
    return memoryview(encode_batch(records))


def _encode_figure(name: str, batch: memoryview, seconds: float) -> Figure:
    # Every batch has its own memory: reading one repeatedly would measure the CPU cache.
    copies = [memoryview(bytes(batch)) for _ in range(OBJECT_BYTES // len(batch))]
    chunks = [
        wal_v1.ChunkDraft(StreamId(stream), copies[stream::STREAMS], 1, NOW_MS, NOW_MS)
        for stream in range(STREAMS)
    ]
    size_bytes = wal_v1.encode(WalId(bytes(16)), MetaDomain(0), NOW_MS, chunks).size_bytes
    took = _best_seconds(lambda: wal_v1.encode(WalId(bytes(16)), MetaDomain(0), NOW_MS, chunks), seconds)
    return Figure(name, size_bytes / took / 1e6, "MB/s", bar=1000)


def _batch_figure(name: str, call: Callable[[], object], seconds: float) -> Figure:
    return Figure(name, _best_seconds(call, seconds) * 1e6, "µs/batch")


def _best_seconds(call: Callable[[], object], seconds: float) -> float:
    """Return the best of many rounds: the cost when nothing else runs."""
    deadline = time.perf_counter() + seconds
    calls = max(1, int(0.001 / max(_timed(call, 1), 1e-7)))
    best = _timed(call, calls)
    while time.perf_counter() < deadline:
        best = min(best, _timed(call, calls))
    return best


def _timed(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return (time.perf_counter() - start) / calls
