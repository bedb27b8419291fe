"""Two kinds of snapshot that PyIceberg nearly makes.

They are made from classes of PyIceberg's that are not part of its promise; hence the version is locked, and
the tests read the result with other engines.
"""

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _MergeAppendFiles, _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT

from dray.tables.iceberg import jobs
from dray.tables.port import Job


class Append(_MergeAppendFiles):
    """A snapshot that adds files, and merges manifests when there are many.

    PyIceberg forgets the manifest of the new files when it has merged that into another: `left_over`.
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
    """A snapshot that removes files by name and is told as any operation.

    PyIceberg always writes `overwrite` here, which readers of changes take for new data, or stop at.
    """

    def __init__(self, transaction: Transaction, job: Job, told_as: Operation) -> None:
        self._told_as = told_as
        super().__init__(
            operation=Operation.OVERWRITE,
            transaction=transaction,
            io=transaction._table.io,  # noqa: SLF001 - as PyIceberg's own UpdateSnapshot does
            snapshot_properties=jobs.summary(job),
        )

    def _summary(self, snapshot_properties: dict[str, str] = EMPTY_DICT) -> Summary:
        counted = super()._summary(snapshot_properties)
        return Summary(self._told_as, **counted.additional_properties)
