"""PyIceberg's transactions and snapshot updates, adapted.

These build on PyIceberg classes that are not part of its public API; hence the version is pinned, and tests
read the results with other engines.
"""

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update import TableUpdate
from pyiceberg.table.update.snapshot import _MergeAppendFiles, _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT

from dray.tables.iceberg import jobs
from dray.tables.port import Job


class CachingTransaction(Transaction):
    """A transaction that computes the table's metadata once per update.

    PyIceberg computes it on every access, sixteen times in a commit, and copies all snapshots each time: most
    of the cost of a commit, and growing with every snapshot. The cached value must not be modified.
    """

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self._cached: tuple[TableMetadata, tuple[TableUpdate, ...], TableMetadata] | None = None

    @property
    def table_metadata(self) -> TableMetadata:
        base, updates = self._table.metadata, self._updates
        if self._cached is None or self._cached[0] is not base or self._cached[1] is not updates:
            self._cached = (base, updates, super().table_metadata)
        return self._cached[2]


class Append(_MergeAppendFiles):
    """A snapshot that adds files, and merges manifests when there are many.

    PyIceberg loses track of the new files' manifest once it is merged into another: `left_over`.
    """

    def __init__(self, transaction: Transaction, job: Job) -> None:
        self.left_over: tuple[str, ...] = ()
        super().__init__(
            operation=Operation.APPEND,
            transaction=transaction,
            io=transaction._table.io,  # noqa: SLF001 - as PyIceberg's own UpdateSnapshot does
            snapshot_properties=jobs.summary(job),
        )

    def __enter__(self) -> "Append":
        return self

    def _process_manifests(self, manifests: list[ManifestFile]) -> list[ManifestFile]:
        merged = super()._process_manifests(manifests)
        kept = {manifest.manifest_path for manifest in merged}
        self.left_over = tuple(path for path in self._written_manifests if path not in kept)
        return merged


class Rewrite(_OverwriteFiles):
    """A snapshot that removes files by name, with any operation in its summary.

    PyIceberg always writes `overwrite` there, which incremental readers take for new data, or stop at.
    """

    def __init__(self, transaction: Transaction, job: Job, operation: Operation) -> None:
        self._shown_operation = operation
        super().__init__(
            operation=Operation.OVERWRITE,
            transaction=transaction,
            io=transaction._table.io,  # noqa: SLF001 - as PyIceberg's own UpdateSnapshot does
            snapshot_properties=jobs.summary(job),
        )

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        counted = super()._summary(snapshot_properties)
        return Summary(self._shown_operation, **counted.additional_properties)
