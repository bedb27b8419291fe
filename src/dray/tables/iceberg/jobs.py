"""What a table remembers of our jobs, and how it is told.

A job is written twice in its commit: its id in the summary of the snapshot, and for each partition it marks
a property `dray.mark.<partition>` with the offset and the id. The summary goes when the snapshot is
expired; the property stays until the next job marks that partition.
"""

from collections.abc import Mapping
from typing import Final

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import ancestors_of

from dray.tables.port import Committed, Job, Mark, marked

JOB_ID: Final = "dray.job-id"
_MARK: Final = "dray.mark."


def find(metadata: TableMetadata, job: Job) -> Committed | None:
    """Whether the job is part of what the table holds, or was before its snapshot was expired."""
    for snapshot in ancestors_of(metadata.current_snapshot(), metadata):
        if snapshot.summary is not None and snapshot.summary.get(JOB_ID) == job.id:
            return Committed(snapshot.snapshot_id, repeated=True)
    known = marks(metadata.properties)
    if job.marks and all(_by(known.get(partition)) == job.id for partition in job.marks):
        return Committed(None, repeated=True)
    return None


def marks(properties: Mapping[str, str]) -> dict[int, Mark]:
    """The marks that a table's properties hold; what does not read as one is not ours."""
    found = {}
    for name, value in properties.items():
        partition, (offset, _, job_id) = name.removeprefix(_MARK), value.partition(" ")
        if name.startswith(_MARK) and partition.isdecimal() and offset.isdecimal():
            found[int(partition)] = Mark(int(offset), job_id)
    return found


def summary(job: Job) -> dict[str, str]:
    """What the snapshot says of the job."""
    return {JOB_ID: job.id}


def properties(job: Job, known: Mapping[int, Mark]) -> dict[str, str]:
    """What the table says of the job, given the marks that it has."""
    new = marked(job, known)
    return {f"{_MARK}{partition}": f"{mark.offset} {mark.job_id}" for partition, mark in new.items()}


def _by(mark: Mark | None) -> str | None:
    return None if mark is None else mark.job_id
