"""Report of a round: counts for metrics and logs, and messages about what was skipped or failed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dray.compaction.job_store import StoredJob
from dray.compaction.skipped import UnconvertibleEntry
from dray.index import CompactionJob


@dataclass(slots=True)
class RoundReport:
    """What a round did."""

    files: int = 0
    records: int = 0
    skipped: list[str] = field(default_factory=list)
    """WAL entries that could not be converted and stay in the WAL, each with the reason."""
    skipped_records: int = 0
    """Number of records of the topic that are skipped, by this round or an earlier one."""
    failures: list[str] = field(default_factory=list)
    dropped: int = 0
    """Number of records that key compaction removed."""

    def add_published(self, published: Iterable[StoredJob]) -> None:
        """Add the outcome of jobs that went through table and index."""
        for stored in published:
            job = stored.job
            if job.outcome:
                self.add_failures(job, [job.outcome])
                continue
            self.files += len(job.files)
            self.records += sum(file.record_count for file in job.files)

    def add_failures(self, job: CompactionJob, reasons: Iterable[str]) -> None:
        self.failures += [f"{_place(job)}: {reason}" for reason in reasons]

    def add_skipped(self, job: CompactionJob, entries: Iterable[UnconvertibleEntry]) -> None:
        """Add entries that a job has skipped."""
        self.skipped += [
            f"{_place(job)}: offsets {one.start_offset} to {one.end_offset - 1} are in {one.path}: "
            f"{one.reason}"
            for one in entries
        ]

    def merge(self, other: "RoundReport") -> None:
        """Add the figures and messages of another report."""
        self.files += other.files
        self.records += other.records
        self.skipped += other.skipped
        self.failures += other.failures
        self.dropped += other.dropped


def _place(job: CompactionJob) -> str:
    return f"partition {job.partition} of {job.topic.name}"
