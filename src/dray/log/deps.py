"""Dependencies of the log: stores, runtime and settings that a process gives it, and its metrics."""

from dataclasses import dataclass
from typing import Self

from dray.log.row_groups import Encode, no_parquet
from dray.log.settings import LogSettings
from dray.meta.port import MetaStore
from dray.objects.port import ObjectStore
from dray.observe import Counter, Gauge, Histogram, Metrics
from dray.runtime import Clock, Entropy, Tasks


@dataclass(frozen=True, slots=True)
class LogMetrics:
    """Instruments of the write and read paths."""

    flush_bytes: Histogram
    flush_seconds: Histogram
    commit_seconds: Histogram
    commit_conflicts: Counter
    lost_batches: Counter
    chunk_reads: Counter
    buffered_bytes: Gauge
    reading_bytes: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        log = metrics.package("log")
        return cls(
            flush_bytes=log.sizes("flush", "Size of WAL objects."),
            flush_seconds=log.latency("flush", "Time to make a WAL object durable."),
            commit_seconds=log.latency(
                "commit", "Duration of an index commit, including commits that lost a conflict."
            ),
            commit_conflicts=log.counter(
                "commit_conflicts",
                "Index commits that conflicted with another broker's and were retried; "
                "`dray_log_commit_seconds_count` counts all.",
            ),
            lost_batches=log.counter(
                "lost_batches", "Batches that were accepted and then failed to be stored."
            ),
            chunk_reads=log.counter(
                "chunk_reads", "Chunks served, by source (recent, cache or objects).", ["source"]
            ),
            buffered_bytes=log.gauge("buffered_bytes", "Bytes accepted and not yet acknowledged."),
            reading_bytes=log.gauge("reading_bytes", "Bytes being read from object storage."),
        )


@dataclass(frozen=True, slots=True)
class LogDeps:
    """What a log needs; `objects` retries and counts, and does not cache."""

    meta: MetaStore
    objects: ObjectStore
    clock: Clock
    entropy: Entropy
    tasks: Tasks
    settings: LogSettings
    metrics: LogMetrics
    zone: str = "none"
    domains: int = 1
    encode_group: Encode = no_parquet
