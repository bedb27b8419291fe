"""What `dray compaction status` shows, as text or JSON."""

from collections.abc import Sequence
from typing import Final

from msgspec import structs

from dray.cli.instants import iso
from dray.cli.tables import NOTHING, table
from dray.index import CompactionJob, JobState
from dray.pipeline.status import PartitionStatus, TopicStatus

_COLUMNS: Final = (
    "partition",
    "start",
    "end",
    "waiting",
    "bytes",
    "entries",
    "age",
    "last job",
    "when",
    "offsets",
    "files",
)


def as_json(found: Sequence[TopicStatus], now_ms: int) -> list[dict[str, object]]:
    return [
        {
            "topic": status.topic,
            "compactor": status.holder,
            "not_compacted": None if status.trouble is None else structs.asdict(status.trouble),
            "partitions": [_partition_json(one, now_ms) for one in status.partitions],
        }
        for status in found
    ]


def _partition_json(one: PartitionStatus, now_ms: int) -> dict[str, object]:
    outside = one.outside
    return {
        "partition": one.partition,
        "log_start": one.head.log_start,
        "high_watermark": one.head.high_watermark,
        "wal_entries": outside.entries,
        "wal_records": outside.records,
        "wal_bytes": outside.size_bytes,
        "wal_age_ms": None if outside.oldest_ms is None else max(0, now_ms - outside.oldest_ms),
        "job": None if one.job is None else _job_json(one.job),
        "differing_records": sum(found.records for found in one.differences),
        "table_differs": [
            {
                "first_offset": found.first_offset,
                "last_offset": found.last_offset,
                "records": found.records,
                "why": found.why,
            }
            for found in one.differences
        ],
    }


def _job_json(job: CompactionJob) -> dict[str, object]:
    return {
        "id": job.job_id,
        "state": str(job.state),
        "failure": job.outcome or None,
        "created_at_ms": job.created_at_ms,
        "changed_at_ms": job.changed_at_ms,
        "start_offset": job.start_offset,
        "end_offset": job.end_offset,
        "files": [file.path for file in job.files],
        "replaced": [file.path for file in job.replaced],
    }


def as_text(found: Sequence[TopicStatus], now_ms: int) -> str:
    pages = ["\n".join(_page(status, now_ms)) for status in found]
    return "\n\n".join(pages) or "there are no topics"


def _page(status: TopicStatus, now_ms: int) -> list[str]:
    at_it = f", {status.holder} is at it" if status.holder else ""
    trouble = status.trouble
    refused = [f"  not compacted since {iso(trouble.since_ms)}: {trouble.why}"] if trouble else []
    rows = [_row(one, now_ms) for one in status.partitions]
    failures = [
        f"  partition {one.partition} failed: {one.job.outcome}"
        for one in status.partitions
        if one.job is not None and one.job.outcome
    ]
    differs = [
        f"  partition {one.partition}, offsets {found.first_offset} to {found.last_offset}: {found.why}"
        for one in status.partitions
        for found in one.differences
    ]
    lines = [f"  {line}" for line in table(_COLUMNS, rows)]
    return [f"topic {status.topic}{at_it}", *refused, *lines, *failures, *differs]


def _row(one: PartitionStatus, now_ms: int) -> tuple[object, ...]:
    outside = one.outside
    age = NOTHING if outside.oldest_ms is None else duration(now_ms - outside.oldest_ms)
    head = one.head
    waiting = (head.log_start, head.high_watermark, outside.records, outside.size_bytes, outside.entries, age)
    return (one.partition, *waiting, *_job_cells(one.job))


def _job_cells(job: CompactionJob | None) -> tuple[object, ...]:
    if job is None:
        return (NOTHING,) * 4
    state = "failed" if job.state is JobState.DONE and job.outcome else str(job.state)
    return state, iso(job.changed_at_ms), f"{job.start_offset}-{job.end_offset - 1}", len(job.files)


def duration(ms: int) -> str:
    """Return a time span for people, in its largest unit."""
    seconds = max(0, ms) / 1000
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.1f} s"
