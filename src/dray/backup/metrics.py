"""Metrics of continuous backups."""

from dataclasses import dataclass
from typing import Self

from dray.observe import Counter, Gauge, Histogram, Metrics


@dataclass(frozen=True, slots=True)
class BackupMetrics:
    """Instruments of the broker that saves the metadata."""

    last_success_seconds: Gauge
    seconds: Histogram
    size_bytes: Gauge
    failures: Counter

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        backup = metrics.package("backup")
        return cls(
            last_success_seconds=backup.gauge(
                "last_success_seconds",
                "Unix time at which the newest backup of the metadata began, or was found to be current; 0 "
                "on brokers that leave it to another one.",
            ),
            seconds=backup.latency("save", "Duration of a backup of the metadata."),
            size_bytes=backup.gauge("size_bytes", "Size of the newest backup of the metadata."),
            failures=backup.counter("failures", "Backups of the metadata that failed."),
        )
