"""One attempt at a commit: load the table, check whether the job was done, prepare, commit.

Every commit requires that the table's main branch has not moved since the table was loaded. So of two
attempts at one job, by this process or another, at most one can succeed, even if the first is still in
progress when the second finds nothing. An unknown outcome can therefore simply be retried.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation

from dray.tables.iceberg import jobs, version_hint
from dray.tables.iceberg.data_files import Root, live_entries, to_iceberg
from dray.tables.iceberg.errors import committing, reading_files
from dray.tables.iceberg.schema import check_version
from dray.tables.iceberg.transactions import Append, CachingTransaction, Rewrite
from dray.tables.port import ANY_SNAPSHOT, Committed, DataFile, FilesMissing, Job, SnapshotChanged

_RETRIES: Final = "commit.retry.num-retries"


@dataclass(frozen=True, slots=True)
class Target:
    """The table to commit to.

    `load` returns its current state; `check_fit` raises `TableAltered` if our files do not fit it.
    `has_hint`: Dray writes its version hint.
    """

    load: Callable[[], Table]
    check_fit: Callable[[Table], None]
    root: Root
    has_hint: bool = False

    def written(self, table: Table) -> None:
        """Update the hint after a commit."""
        if self.has_hint:
            version_hint.write(table)

    def seen(self, table: Table) -> None:
        """Update the hint if it is stale, as after a crash between a commit and its hint."""
        if self.has_hint:
            version_hint.refresh(table)


def append(
    target: Target, files: Sequence[DataFile], job: Job, expected_snapshot_id: int | None
) -> Committed:
    """Add files, unless the job was done before."""
    table = target.load()
    if done := jobs.find(table.metadata, job):
        target.seen(table)
        return done
    _check_snapshot(table, expected_snapshot_id)
    target.check_fit(table)
    described = [to_iceberg(file, table.spec(), target.root) for file in files]
    with reading_files(_name(table)):
        transaction = _begin(table, job)
        with Append(transaction, job) as change:
            for file in described:
                change.append_data_file(file)
    done = _commit(target, transaction)
    _delete_files(table, change.left_over)
    return done


def replace(
    target: Target,
    removed: Sequence[str],
    added: Sequence[DataFile],
    job: Job,
    expected_snapshot_id: int | None,
) -> Committed:
    """Remove files and add others, unless the job was done before."""
    table = target.load()
    if done := jobs.find(table.metadata, job):
        target.seen(table)
        return done
    _check_snapshot(table, expected_snapshot_id)
    if added:
        target.check_fit(table)
    else:
        check_version(table)
    described = [to_iceberg(file, table.spec(), target.root) for file in added]
    with reading_files(_name(table)):
        old = _find_files(table, target.root, set(removed))
        transaction = _begin(table, job)
        with Rewrite(transaction, job, _operation(old, described)) as change:
            for file in old:
                change.delete_data_file(file)
            for file in described:
                change.append_data_file(file)
    return _commit(target, transaction)


def snapshot_id(table: Table) -> int | None:
    snapshot = table.current_snapshot()
    return snapshot.snapshot_id if snapshot else None


def _check_snapshot(table: Table, expected_snapshot_id: int | None) -> None:
    if expected_snapshot_id not in (ANY_SNAPSHOT, (at := snapshot_id(table))):
        raise SnapshotChanged(
            f"{_name(table)}: concurrent commit: expected snapshot {expected_snapshot_id}, found {at}"
        )


def _begin(table: Table, job: Job) -> Transaction:
    # In case the table sets retries: PyIceberg would retry without checking for the job. Only in memory.
    table.metadata.properties[_RETRIES] = "0"
    transaction = CachingTransaction(table)
    if marks := jobs.properties(job, jobs.marks(table.metadata.properties)):
        transaction.set_properties(marks)
    return transaction


def _commit(target: Target, transaction: Transaction) -> Committed:
    with committing(_name(transaction._table)):  # noqa: SLF001 - it has no other name
        table = transaction.commit_transaction()
    target.written(table)
    return Committed(snapshot_id(table))


def _delete_files(table: Table, urls: Sequence[str]) -> None:
    """Delete files that no snapshot references; the orphan sweep deletes those that fail here."""
    for url in urls:
        with suppress(OSError):
            table.io.delete(url)


def _find_files(table: Table, root: Root, paths: set[str]) -> list[IcebergFile]:
    entries = (entry.data_file for entry in live_entries(table))
    live = {root.path(file.file_path): file for file in entries if file.content == DataFileContent.DATA}
    if missing := paths - live.keys():
        raise FilesMissing(
            f"{_name(table)}: {len(missing)} of {len(paths)} files to be replaced are no longer in it, "
            f"such as {min(missing)}; another commit replaced or deleted them"
        )
    return [live[path] for path in sorted(paths)]


def _operation(old: Sequence[IcebergFile], new: Sequence[IcebergFile]) -> Operation:
    """Return the operation that incremental readers see: rows unchanged, rows deleted, or any change."""
    if not new:
        return Operation.DELETE
    removed, added = (sum(file.record_count for file in files) for files in (old, new))
    return Operation.REPLACE if removed == added else Operation.OVERWRITE


def _name(table: Table) -> str:
    return f"table {'.'.join(table.name())}"
