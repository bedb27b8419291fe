"""Output of `dray compaction status`, as text and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Final

from dray.cli.render.formats import NOTHING, duration, iso, table
from dray.compaction.failures import TopicFailure
from dray.compaction.skipped import skipped_records
from dray.index import CompactionJob, JobState
from dray.maintenance.status import PartitionStatus, TopicStatus

_COLUMNS: Final = (
    "partition",
    "log start",
    "log end",
    "wal records",
    "wal bytes",
    "wal entries",
    "wal age",
    "job",
    "updated",
    "offsets",
    "files",
)


def as_json(found: Sequence[TopicStatus], now_ms: int) -> list[dict[str, object]]:
    return [
        {
            "topic": status.topic,
            "compactor": status.holder,
            "failure": None if status.failure is None else _failure_json(status.failure),
            "partitions": [_partition_json(one, now_ms) for one in status.partitions],
        }
        for status in found
    ]


def _partition_json(one: PartitionStatus, now_ms: int) -> dict[str, object]:
    backlog = one.backlog
    return {
        "partition": one.partition,
        "log_start": one.head.log_start,
        "high_watermark": one.head.high_watermark,
        "wal_entries": backlog.entries,
        "wal_records": backlog.records,
        "wal_bytes": backlog.size_bytes,
        "wal_age_ms": None if backlog.oldest_ms is None else max(0, now_ms - backlog.oldest_ms),
        "skipped_entries": sum(one.skipped_entries),
        "skipped_records": skipped_records(one.skipped),
        "skipped": [
            {
                "first_offset": found.start_offset,
                "last_offset": found.end_offset - 1,
                "entries": entries,
                "path": found.path or None,
                "reason": found.reason or None,
                "since_ms": found.since_ms,
            }
            for found, entries in zip(one.skipped, one.skipped_entries, strict=True)
        ],
        "job": None if one.job is None else _job_json(one.job),
        "differing_records": sum(found.records for found in one.differences),
        "differences": [
            {
                "first_offset": found.first_offset,
                "last_offset": found.last_offset,
                "records": found.records,
                "reason": found.reason,
            }
            for found in one.differences
        ],
    }


def _failure_json(failure: TopicFailure) -> dict[str, object]:
    return {"since_ms": failure.since_ms, "changed_at_ms": failure.changed_at_ms, "reason": failure.reason}


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
    topics = ["\n".join(_topic(status, now_ms)) for status in found]
    return "\n\n".join(topics) or "there are no topics"


def _topic(status: TopicStatus, now_ms: int) -> list[str]:
    holder = f", being compacted by {status.holder}" if status.holder else ""
    failure = status.failure
    failed = [f"  not compacted since {iso(failure.since_ms)}: {failure.reason}"] if failure else []
    rows = [_row(one, now_ms) for one in status.partitions]
    failures = [
        f"  partition {one.partition} failed: {one.job.outcome}"
        for one in status.partitions
        if one.job is not None and one.job.outcome
    ]
    skipped = [line for one in status.partitions for line in _skipped(one)]
    differs = [
        f"  partition {one.partition}, offsets {found.first_offset} to {found.last_offset}: {found.reason}"
        for one in status.partitions
        for found in one.differences
    ]
    lines = [f"  {line}" for line in table(_COLUMNS, rows)]
    return [f"topic {status.topic}{holder}", *failed, *lines, *failures, *skipped, *differs]


def _skipped(one: PartitionStatus) -> Iterator[str]:
    for found, entries in zip(one.skipped, one.skipped_entries, strict=True):
        if found.path:
            more = f" and {entries - 1:,} more" if entries > 1 else ""
            yield (
                f"  partition {one.partition}, offsets {found.start_offset} to {found.end_offset - 1}: "
                f"skipped since {iso(found.since_ms)} and kept in {found.path}{more}: {found.reason}"
            )
    unnamed = [found for found in one.skipped if not found.path]
    if unnamed:
        first, last = unnamed[0].start_offset, unnamed[-1].end_offset - 1
        yield (
            f"  partition {one.partition}: and {len(unnamed):,} more ranges between offsets {first} and "
            f"{last}, {skipped_records(unnamed):,} records"
        )


def _row(one: PartitionStatus, now_ms: int) -> tuple[object, ...]:
    backlog = one.backlog
    age = NOTHING if backlog.oldest_ms is None else duration(now_ms - backlog.oldest_ms)
    head = one.head
    numbers = (head.log_start, head.high_watermark, backlog.records, backlog.size_bytes, backlog.entries, age)
    return (one.partition, *numbers, *_job_cells(one.job))


def _job_cells(job: CompactionJob | None) -> tuple[object, ...]:
    if job is None:
        return (NOTHING,) * 4
    state = "failed" if job.state is JobState.DONE and job.outcome else str(job.state)
    return state, iso(job.changed_at_ms), f"{job.start_offset}-{job.end_offset - 1}", len(job.files)
