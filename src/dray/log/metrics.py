"""What the log counts."""

from prometheus_client import CollectorRegistry, Counter, Histogram

_LATENCY_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
_OBJECT_BYTES = tuple(1 << power for power in range(10, 27, 2))


class LogMetrics:
    """Instruments of the write and read paths."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.flush_bytes = Histogram(
            "dray_log_flush_bytes", "Size of WAL objects written.", buckets=_OBJECT_BYTES, registry=registry
        )
        self.flush_seconds = Histogram(
            "dray_log_flush_seconds",
            "Time to make a WAL object durable.",
            buckets=_LATENCY_SECONDS,
            registry=registry,
        )
        self.commit_seconds = Histogram(
            "dray_log_commit_seconds",
            "Time of one index commit.",
            buckets=_LATENCY_SECONDS,
            registry=registry,
        )
        self.commit_conflicts = Counter(
            "dray_log_commit_conflicts", "Index commits that were planned again.", registry=registry
        )
        self.lost_batches = Counter(
            "dray_log_lost_batches", "Batches that were taken and then not stored.", registry=registry
        )
        self.chunk_reads = Counter(
            "dray_log_chunk_reads", "Chunks served, by where they were found.", ["source"], registry=registry
        )
