"""Names of findings in `dray check --json`: programs rely on them, so they never change."""

from collections.abc import Iterator

from dray.check import object_findings, other_findings, stream_findings
from dray.check.findings import Finding

NAMES = {
    *("damaged_object", "missing_object", "short_object", "unprotected", "wrong_references"),
    *("excess_references", "unreferenced", "stray", "overdue_deletion"),
    *("stuck_job", "dangling_job", "job_file_missing", "unfinished_load", "undecodable"),
    *("table_differs", "table_pending", "table_unreadable", "offsets_without_topic"),
    *("gap", "overlap", "misplaced_entry", "size_mismatch", "time_mismatch", "head_mismatch"),
    *("snapshot_damaged", "missing_head", "lost_topic", "empty_stream", "shared_stream"),
}


def kinds() -> Iterator[type[Finding]]:
    for module in (object_findings, other_findings, stream_findings):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Finding) and "name" in vars(value):
                yield value


def test_every_kind_of_finding_has_a_name_of_its_own_that_never_changes() -> None:
    found = {kind.name: kind for kind in kinds()}
    assert len(found) == len(set(kinds()))
    assert found.keys() == NAMES
