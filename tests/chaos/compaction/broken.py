"""A compactor that never looks whether the table has a job already, to be found out; called like `doomed`.

It merges nothing: a merge would take rows that are there twice out again.
"""

from pyiceberg.table.metadata import TableMetadata

from dray.pipeline import next_spans
from dray.tables.iceberg import jobs
from dray.tables.port import Committed, Job
from tests.chaos.compaction.doomed import run


def forget(metadata: TableMetadata, job: Job) -> Committed | None:
    return None


if __name__ == "__main__":
    jobs.find = forget
    next_spans.merge_spans = lambda *_: []  # type: ignore[attr-defined]
    run()
