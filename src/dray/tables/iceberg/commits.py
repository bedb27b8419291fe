"""One attempt at a commit: look whether the job was done, prepare, commit on what was looked at.

Every commit demands that the table's main branch still is where it was when we looked, so of two attempts at
one job, by us or by others, at most one can succeed; also one that is still under way somewhere when the next
look finds nothing. That is why an unknown outcome may simply be tried again.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from pyiceberg.manifest import DataFile as IcebergFile
from pyiceberg.manifest import DataFileContent
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation

from dray.tables.iceberg import jobs
from dray.tables.iceberg.data_files import Root, to_iceberg
from dray.tables.iceberg.errors import committing, reading_files
from dray.tables.iceberg.live_files import live_entries
from dray.tables.iceberg.schema import check_version
from dray.tables.iceberg.snapshots import Append, Rewrite
from dray.tables.iceberg.transactions import RememberingTransaction
from dray.tables.port import ANYWHERE, Committed, DataFile, FilesGone, Job, Moved

_RETRIES: Final = "commit.retry.num-retries"


@dataclass(frozen=True, slots=True)
class Target:
    """The table that a commit is for.

    `load` returns it as it is now; `check_fit` raises `TableAltered` if our files do not fit it.
    """

    load: Callable[[], Table]
    check_fit: Callable[[Table], None]
    root: Root


def append(target: Target, files: Sequence[DataFile], job: Job, onto: int | None) -> Committed:
    """Add files, unless the job has been done."""
    table = target.load()
    if done := jobs.find(table.metadata, job):
        return done
    _check_place(table, onto)
    target.check_fit(table)
    described = [to_iceberg(file, table.spec(), target.root) for file in files]
    with reading_files(_name(table)):
        transaction = _begin(table, job)
        with Append(transaction, job) as change:
            for file in described:
                change.append_data_file(file)
    done = _commit(transaction)
    _delete_files(table, change.left_over)
    return done


def replace(
    target: Target, removed: Sequence[str], added: Sequence[DataFile], job: Job, onto: int | None
) -> Committed:
    """Take files out and others in, unless the job has been done."""
    table = target.load()
    if done := jobs.find(table.metadata, job):
        return done
    _check_place(table, onto)
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
    return _commit(transaction)


def snapshot_id(table: Table) -> int | None:
    snapshot = table.current_snapshot()
    return snapshot.snapshot_id if snapshot else None


def _check_place(table: Table, onto: int | None) -> None:
    if onto not in (ANYWHERE, (at := snapshot_id(table))):
        raise Moved(f"{_name(table)} is at snapshot {at} and no longer at {onto}; somebody else was quicker")


def _begin(table: Table, job: Job) -> Transaction:
    # In case somebody has set it on the table: PyIceberg would try again without looking. Stays in memory.
    table.metadata.properties[_RETRIES] = "0"
    transaction = RememberingTransaction(table)
    if marks := jobs.properties(job, jobs.marks(table.metadata.properties)):
        transaction.set_properties(marks)
    return transaction


def _commit(transaction: Transaction) -> Committed:
    with committing(_name(transaction._table)):  # noqa: SLF001 - it has no other name
        table = transaction.commit_transaction()
    return Committed(snapshot_id(table))


def _delete_files(table: Table, urls: Sequence[str]) -> None:
    """Delete what no snapshot refers to; what cannot be deleted now is left for the sweep."""
    for url in urls:
        with suppress(OSError):
            table.io.delete(url)


def _find_files(table: Table, root: Root, paths: set[str]) -> list[IcebergFile]:
    entries = (entry.data_file for entry in live_entries(table))
    live = {root.path(file.file_path): file for file in entries if file.content == DataFileContent.DATA}
    if missing := paths - live.keys():
        raise FilesGone(
            f"{_name(table)}: {len(missing)} of {len(paths)} files to be replaced are not in it any more, "
            f"such as {min(missing)}; somebody else has replaced or deleted them"
        )
    return [live[path] for path in sorted(paths)]


def _operation(old: Sequence[IcebergFile], new: Sequence[IcebergFile]) -> Operation:
    """What readers of changes are told: nothing has changed, rows are gone, or anything may have."""
    if not new:
        return Operation.DELETE
    gone, come = (sum(file.record_count for file in files) for files in (old, new))
    return Operation.REPLACE if gone == come else Operation.OVERWRITE


def _name(table: Table) -> str:
    return f"table {'.'.join(table.name())}"
