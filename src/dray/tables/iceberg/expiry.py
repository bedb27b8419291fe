"""Snapshot expiry, and the files that a table's metadata references.

PyIceberg expires snapshots in the metadata and deletes no files. The files that become unreachable are found
before the commit, as those that the expired snapshots reference and the remaining ones do not.

Snapshots of the main branch expire at our age, unless the table's or the branch's own retention keeps them.
Snapshots on other branches, and staged ones that were never published, are kept for as long as their
retention or Iceberg's defaults say.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotsUpdate

from dray.tables.iceberg import version_hint
from dray.tables.iceberg.commits import Target
from dray.tables.iceberg.data_files import Root
from dray.tables.iceberg.errors import committing, reading_files
from dray.tables.iceberg.schema import check_version
from dray.tables.iceberg.transactions import CachingTransaction
from dray.tables.port import Conflict, Expired

_AGE: Final = "history.expire.max-snapshot-age-ms"
_MIN_SNAPSHOTS: Final = "history.expire.min-snapshots-to-keep"
_DEFAULT_AGE_MS: Final = 5 * 24 * 60 * 60 * 1000
"""Iceberg's default."""


def expire(target: Target, older_than_ms: int, now_ms: int) -> Expired:
    """Expire old snapshots; returns the metadata files that become unreachable."""
    table = target.load()
    check_version(table)
    kept = {*_kept_by_refs(table, now_ms), *_unpublished(table, now_ms)}
    replaced_ms = _replaced_ms(table)
    old = [
        s
        for s in table.snapshots()
        if replaced_ms.get(s.snapshot_id, s.timestamp_ms) < older_than_ms and s.snapshot_id not in kept
    ]
    if not old:
        target.seen(table)
        return Expired(0, ())
    what = f"expiring snapshots of table {'.'.join(table.name())}"
    with reading_files(what):
        metadata = _unreachable(table, old)
    if target.load().metadata.refs != table.metadata.refs:
        raise Conflict(f"{what}: a branch or a tag was created or moved in the meantime")
    with committing(what):
        expired = _remove(table, old)
    target.written(expired)
    return Expired(len(old), _paths(target.root, metadata))


def reachable(table: Table, root: Root, *, data: bool, has_hint: bool) -> frozenset[str]:
    """Return every file that the table references, down to the earlier metadata files that it lists."""
    metadata = table.metadata
    own = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    if has_hint:
        own.add(version_hint.location(table))
    statistics = {file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics)}
    with reading_files(f"files of table {'.'.join(table.name())}"):
        manifests = _manifests(table, metadata.snapshots)
        files = _data(table, manifests.values()) if data else set()
    return frozenset(_paths(root, own | statistics | manifests.keys() | files | _lists(metadata.snapshots)))


def _kept_by_refs(table: Table, now_ms: int) -> Iterator[int]:
    """Yield the snapshots of tags and branches, and the ancestors that a branch's retention keeps."""
    for name, ref in table.metadata.refs.items():
        yield ref.snapshot_id
        if ref.snapshot_ref_type is SnapshotRefType.TAG:
            continue
        default_ms = 0 if name == MAIN_BRANCH else _DEFAULT_AGE_MS
        snapshots_min = ref.min_snapshots_to_keep or _number(table.properties, _MIN_SNAPSHOTS, 1)
        age_ms = ref.max_snapshot_age_ms or _number(table.properties, _AGE, default_ms)
        for number, snapshot in enumerate(_ancestors(table, ref.snapshot_id)):
            if number < snapshots_min or snapshot.timestamp_ms > now_ms - age_ms:
                yield snapshot.snapshot_id


def _unpublished(table: Table, now_ms: int) -> Iterator[int]:
    """Yield the snapshots that have not been current yet and may become so."""
    head = table.metadata.refs.get(MAIN_BRANCH)
    published = {entry.snapshot_id for entry in table.metadata.snapshot_log}
    if head is not None:
        published |= {snapshot.snapshot_id for snapshot in _ancestors(table, head.snapshot_id)}
    oldest_ms = now_ms - _number(table.properties, _AGE, _DEFAULT_AGE_MS)
    for snapshot in table.snapshots():
        if snapshot.snapshot_id not in published and snapshot.timestamp_ms > oldest_ms:
            yield snapshot.snapshot_id


def _ancestors(table: Table, snapshot_id: int) -> Iterable[Snapshot]:
    """Return a snapshot and its ancestors, newest first."""
    return ancestors_of(table.snapshot_by_id(snapshot_id), table.metadata)


def _number(properties: Mapping[str, str], name: str, default: int) -> int:
    """Return a numeric table property; one that is not a number counts as unset."""
    value = properties.get(name, "")
    return int(value) if value.isdecimal() else default


def _replaced_ms(table: Table) -> dict[int, int]:
    """Return when each snapshot ceased to be the current one, of those that ever were."""
    log = table.metadata.snapshot_log
    return {one.snapshot_id: after.timestamp_ms for one, after in pairwise(log)}


def _unreachable(table: Table, old: list[Snapshot]) -> set[str]:
    """Return the metadata files that only these snapshots reference."""
    expired = {snapshot.snapshot_id for snapshot in old}
    kept = [snapshot for snapshot in table.snapshots() if snapshot.snapshot_id not in expired]
    staying = _manifests(table, kept)
    return _lists(old) | (_manifests(table, old).keys() - staying.keys())


def _remove(table: Table, old: list[Snapshot]) -> Table:
    """Commit, on condition that no branch or tag has moved in the meantime, perhaps to one of these.

    No condition can exclude a new branch or tag, so the caller has just checked for one.
    """
    conditions = tuple(
        AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
        for name, ref in table.metadata.refs.items()
    )
    expired = [snapshot.snapshot_id for snapshot in old]
    removal = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": expired})
    transaction = CachingTransaction(table)
    transaction._apply((removal,), conditions)  # noqa: SLF001 - PyIceberg's own expiry has no conditions
    return transaction.commit_transaction()


def _lists(snapshots: Iterable[Snapshot]) -> set[str]:
    return {snapshot.manifest_list for snapshot in snapshots}


def _manifests(table: Table, snapshots: Iterable[Snapshot]) -> dict[str, ManifestFile]:
    return {one.manifest_path: one for snapshot in snapshots for one in snapshot.manifests(table.io)}


def _data(table: Table, manifests: Iterable[ManifestFile]) -> set[str]:
    return {
        entry.data_file.file_path
        for manifest in manifests
        for entry in manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    }


def _paths(root: Root, urls: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(map(root.path, urls)))
