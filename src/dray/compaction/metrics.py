"""Compaction and table maintenance metrics, grouped by what they measure."""

from dataclasses import dataclass
from typing import Self

from dray.observe import Counter, Gauge, Histogram, Metrics, PackageMetrics


@dataclass(frozen=True, slots=True)
class FileMetrics:
    """Instruments of the Parquet files that compaction writes."""

    files: Counter
    records: Counter
    read_bytes: Counter
    written_bytes: Counter

    @classmethod
    def on(cls, group: PackageMetrics) -> Self:
        kind = ["kind"]
        return cls(
            files=group.counter(
                "files", "Parquet files written, by kind (from the WAL, merged or key-compacted).", kind
            ),
            records=group.counter("records", "Records written to Parquet files, by kind.", kind),
            read_bytes=group.counter(
                "read_bytes", "Bytes read from the object store to write Parquet files.", kind
            ),
            written_bytes=group.counter("written_bytes", "Size of the Parquet files written.", kind),
        )


@dataclass(frozen=True, slots=True)
class TableMetrics:
    """Instruments of table maintenance."""

    lag_seconds: Gauge
    expired_snapshots: Counter
    swept_table_files: Counter
    rebuilt_files: Counter
    missing_files: Gauge
    repaired_files: Counter
    differing_records: Gauge

    @classmethod
    def on(cls, group: PackageMetrics) -> Self:
        topic = ["topic"]
        return cls(
            lag_seconds=group.gauge(
                "lag_seconds",
                "Age of a topic's oldest record that is neither in Parquet yet nor skipped.",
                topic,
            ),
            expired_snapshots=group.counter("expired_snapshots", "Expired table snapshots."),
            swept_table_files=group.counter(
                "swept_table_files",
                "Unreferenced files deleted from table folders (metadata, and data files of other engines).",
            ),
            rebuilt_files=group.counter(
                "rebuilt_files",
                "Files added to tables that were rebuilt after another process had dropped them.",
            ),
            missing_files=group.gauge(
                "missing_files",
                "Parquet files referenced by a topic's index and missing from the store.",
                topic,
            ),
            repaired_files=group.counter(
                "repaired_files", "Missing Parquet files that were restored from the rows of the table."
            ),
            differing_records=group.gauge(
                "differing_records",
                "Records that a topic's table lacks or has twice, for example after a rollback or a delete "
                "by another engine, and rows in other engines' files whose records the log has deleted. "
                "Measured every compaction.audit_interval_ms.",
                topic,
            ),
        )


@dataclass(frozen=True, slots=True)
class CompactionMetrics:
    """Instruments of passes and rounds, and the two groups above."""

    written: FileMetrics
    tables: TableMetrics
    skipped_records: Gauge
    failures: Counter
    round_seconds: Histogram
    last_success: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        group = metrics.package("compaction")
        return cls(
            written=FileMetrics.on(group),
            tables=TableMetrics.on(group),
            skipped_records=group.gauge(
                "skipped_records",
                "Records of a topic that cannot be converted to rows and stay in the WAL, because their "
                "object is damaged, missing or unreadable, or their batch is malformed. "
                "'dray compaction status' lists them.",
                ["topic"],
            ),
            failures=group.counter("failures", "Failures by scope (topic, partition, catalog).", ["scope"]),
            round_seconds=group.latency("round", "Duration of a compaction round that wrote files."),
            last_success=group.gauge(
                "last_success_seconds", "Unix time of the last pass that completed for all topics."
            ),
        )
