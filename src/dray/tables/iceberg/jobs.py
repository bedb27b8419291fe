"""Jobs as a table records them: in snapshot summaries and table properties.

The commit of a job writes it twice: its id in the summary of the snapshot, and for each marked partition a
property `dray.mark.<partition>` with the offset and the id. The summary expires with the snapshot; the
property stays until the next job marks that partition.
"""

from collections.abc import Mapping
from typing import Final

from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import ancestors_of

from dray.tables.port import Committed, Job, Mark, marked

JOB_ID: Final = "dray.job-id"
_MARK: Final = "dray.mark."


def find(metadata: TableMetadata, job: Job) -> Committed | None:
    """Return the job's commit, if the table has its snapshot or a mark of it; None otherwise."""
    for snapshot in ancestors_of(metadata.current_snapshot(), metadata):
        if snapshot.summary is not None and snapshot.summary.get(JOB_ID) == job.id:
            return Committed(snapshot.snapshot_id, repeated=True)
    known = marks(metadata.properties)
    if job.marks and all(_by(known.get(partition)) == job.id for partition in job.marks):
        return Committed(None, repeated=True)
    return None


def marks(properties: Mapping[str, str]) -> dict[int, Mark]:
    """Return the marks in a table's properties; malformed ones are not ours."""
    found = {}
    for name, value in properties.items():
        partition, (offset, _, job_id) = name.removeprefix(_MARK), value.partition(" ")
        if name.startswith(_MARK) and partition.isdecimal() and offset.isdecimal():
            found[int(partition)] = Mark(int(offset), job_id)
    return found


def summary(job: Job) -> dict[str, str]:
    """Return the job's part of the snapshot summary."""
    return {JOB_ID: job.id}


def properties(job: Job, known: Mapping[int, Mark]) -> dict[str, str]:
    """Return the table properties that the job sets, given the current marks."""
    new = marked(job, known)
    return {f"{_MARK}{partition}": f"{mark.offset} {mark.job_id}" for partition, mark in new.items()}


def _by(mark: Mark | None) -> str | None:
    return None if mark is None else mark.job_id
