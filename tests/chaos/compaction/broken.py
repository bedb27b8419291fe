"""Compactor with an injected bug, which the rules must catch: it never finds a job that was committed before.

Its command line is that of `instrumented`. It merges no files: a merge would remove the duplicate rows again.
"""

from pyiceberg.table.metadata import TableMetadata

from dray.compaction import candidates
from dray.tables.iceberg import jobs
from dray.tables.port import Committed, Job
from tests.chaos.compaction.instrumented import run


def find_nothing(metadata: TableMetadata, job: Job) -> Committed | None:
    return None


if __name__ == "__main__":
    jobs.find = find_nothing
    candidates.plan_merges = lambda *_, **__: []  # type: ignore[attr-defined]
    run()
