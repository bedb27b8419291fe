"""What a compactor counts."""

from dataclasses import dataclass
from typing import Self

from dray.observe import Counter, Gauge, Histogram, Metrics


@dataclass(frozen=True, slots=True)
class CompactionMetrics:
    """Instruments of rounds, and of the upkeep of tables."""

    files: Counter
    records: Counter
    read_bytes: Counter
    written_bytes: Counter
    unreadable: Counter
    failures: Counter
    round_seconds: Histogram
    lag_seconds: Gauge
    last_success: Gauge
    expired_snapshots: Counter
    swept_table_files: Counter
    rebuilt_files: Counter
    missing_files: Gauge
    repaired_files: Counter
    differing_records: Gauge

    @classmethod
    def on(cls, metrics: Metrics) -> Self:
        room = metrics.room("compaction")
        kind = ["kind"]
        return cls(
            files=room.counter(
                "files", "Parquet files written: from the WAL, merged, or cleaned by key.", kind
            ),
            records=room.counter("records", "Records written to Parquet files of each kind.", kind),
            read_bytes=room.counter(
                "read_bytes", "Bytes that Parquet files were made from, as they lay in the store.", kind
            ),
            written_bytes=room.counter("written_bytes", "Bytes of Parquet files written.", kind),
            unreadable=room.counter(
                "unreadable_batches", "Batches that no client can read either and that became no rows."
            ),
            failures=room.counter(
                "failures", "Failures, by what was left as it is (topic, partition, catalogue).", ["what"]
            ),
            round_seconds=room.latency("round", "Time of one go at one topic that wrote files."),
            lag_seconds=room.gauge(
                "lag_seconds", "Age of a topic's oldest record that is not in Parquet yet.", ["topic"]
            ),
            last_success=room.gauge(
                "last_success_seconds", "When a turn last went through all topics, in seconds since 1970."
            ),
            expired_snapshots=room.counter("expired_snapshots", "Snapshots of tables that were expired."),
            swept_table_files=room.counter(
                "swept_table_files",
                "Files in tables' folders, metadata and other engines' data, deleted as nothing names them.",
            ),
            rebuilt_files=room.counter(
                "rebuilt_files", "Files put again into tables that somebody had dropped."
            ),
            missing_files=room.gauge(
                "missing_files", "Parquet files that the index of a topic names and nobody finds.", ["topic"]
            ),
            repaired_files=room.counter(
                "repaired_files", "Parquet files that were missing and were written again from the table."
            ),
            differing_records=room.gauge(
                "differing_records",
                "Records of a topic's Parquet files that its table lacks or has twice, because somebody has "
                "rolled it back or deleted them, and rows of others' files that the log has deleted. "
                "Measured every compaction.audit_interval_ms.",
                ["topic"],
            ),
        )
