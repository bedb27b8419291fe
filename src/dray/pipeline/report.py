"""What came of a round, for whoever tells of it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dray.index import CompactionJob
from dray.pipeline.job_store import StoredJob
from dray.pipeline.rewrite import Rewritten


@dataclass(slots=True)
class RoundReport:
    """What a round did."""

    files: int = 0
    records: int = 0
    unreadable: list[str] = field(default_factory=list)
    """Batches that no client can read and that became no rows: where, how many, and why."""
    failures: list[str] = field(default_factory=list)
    dropped: int = 0
    """Records that cleaning by key has left out."""

    def take(self, published: Iterable[StoredJob]) -> None:
        """Add what came of jobs in table and index."""
        for stored in published:
            job = stored.job
            if job.outcome:
                self.fail(job, [job.outcome])
                continue
            self.files += len(job.files)
            self.records += sum(file.record_count for file in job.files)

    def fail(self, job: CompactionJob, reasons: Iterable[str]) -> None:
        """Add why a job came to nothing."""
        self.failures += [f"{_place(job)}: {why}" for why in reasons]

    def leave_out(self, job: CompactionJob, files: Iterable[Rewritten]) -> None:
        """Add what of a job's files could not be read, if anything."""
        self.unreadable += [
            f"{_place(job)}: {file.unreadable_batches} batches became no rows; {file.first_unreadable}"
            for file in files
            if file.unreadable_batches
        ]

    def add(self, other: "RoundReport") -> None:
        """Add what another round did."""
        self.files += other.files
        self.records += other.records
        self.unreadable += other.unreadable
        self.failures += other.failures
        self.dropped += other.dropped


def _place(job: CompactionJob) -> str:
    return f"partition {job.partition} of {job.topic.name}"
