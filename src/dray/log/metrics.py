"""What the log counts."""

from dataclasses import dataclass
from typing import Self

from dray.observe import Counter, Gauge, Histogram, Metrics


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
        log = metrics.room("log")
        return cls(
            flush_bytes=log.sizes("flush", "Size of WAL objects."),
            flush_seconds=log.latency("flush", "Time to make a WAL object durable."),
            commit_seconds=log.latency("commit", "Time of one index commit, whether it was lost or not."),
            commit_conflicts=log.counter(
                "commit_conflicts", "Index commits that were lost to another broker, and tried again."
            ),
            lost_batches=log.counter("lost_batches", "Batches that were taken and then not stored."),
            chunk_reads=log.counter("chunk_reads", "Chunks served, by where they were found.", ["source"]),
            buffered_bytes=log.gauge("buffered_bytes", "Bytes accepted and not yet acknowledged."),
            reading_bytes=log.gauge("reading_bytes", "Bytes on their way from object storage."),
        )
