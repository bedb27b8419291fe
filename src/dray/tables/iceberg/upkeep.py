"""Expiring snapshots, and what the table's metadata refers to.

PyIceberg expires by metadata alone and deletes nothing. What has become unreachable is found by walking
from the snapshots that go and from those that stay, before the commit.

The main branch is ours to expire, unless its owner has said for how long it is to be kept. What others have
on branches of their own, or have staged and not published, is kept for as long as they or Iceberg's defaults
say.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table
from pyiceberg.table.refs import MAIN_BRANCH, SnapshotRefType
from pyiceberg.table.snapshots import Snapshot, ancestors_of
from pyiceberg.table.update import AssertRefSnapshotId, RemoveSnapshotsUpdate

from dray.tables.iceberg.commits import Target
from dray.tables.iceberg.data_files import Root
from dray.tables.iceberg.errors import committing, reading_files
from dray.tables.iceberg.schema import check_version
from dray.tables.iceberg.transactions import RememberingTransaction
from dray.tables.port import Conflict, Expired

_AGE: Final = "history.expire.max-snapshot-age-ms"
_LEAST: Final = "history.expire.min-snapshots-to-keep"
_USUAL_AGE_MS: Final = 5 * 24 * 60 * 60 * 1000
"""Iceberg's default."""


def expire(target: Target, older_than_ms: int, now_ms: int) -> Expired:
    """Forget old snapshots and say what nothing refers to any more."""
    table = target.load()
    check_version(table)
    kept = {*_kept_by_names(table, now_ms), *_unpublished(table, now_ms)}
    left = _left_at(table)
    old = [
        s
        for s in table.snapshots()
        if left.get(s.snapshot_id, s.timestamp_ms) < older_than_ms and s.snapshot_id not in kept
    ]
    if not old:
        return Expired(0, ())
    what = f"expiring snapshots of table {'.'.join(table.name())}"
    with reading_files(what):
        metadata = _unreachable(table, old)
    if target.load().metadata.refs != table.metadata.refs:
        raise Conflict(f"{what}: somebody has made or moved a branch or a tag meanwhile")
    with committing(what):
        _remove(table, old)
    return Expired(len(old), _paths(target.root, metadata))


def reachable(table: Table, root: Root, *, data: bool) -> frozenset[str]:
    """Everything that is referred to, down to earlier metadata files that are still listed."""
    metadata = table.metadata
    own = {table.metadata_location, *(entry.metadata_file for entry in metadata.metadata_log)}
    statistics = {file.statistics_path for file in (*metadata.statistics, *metadata.partition_statistics)}
    with reading_files(f"files of table {'.'.join(table.name())}"):
        manifests = _manifests(table, metadata.snapshots)
        files = _data(table, manifests.values()) if data else set()
    return frozenset(_paths(root, own | statistics | manifests.keys() | files | _lists(metadata.snapshots)))


def _kept_by_names(table: Table, now_ms: int) -> Iterator[int]:
    """The snapshots of tags and branches, and those behind a branch that are kept with it."""
    for name, ref in table.metadata.refs.items():
        yield ref.snapshot_id
        if ref.snapshot_ref_type is SnapshotRefType.TAG:
            continue
        usual_ms = 0 if name == MAIN_BRANCH else _USUAL_AGE_MS
        least = ref.min_snapshots_to_keep or _number(table.properties, _LEAST, 1)
        age_ms = ref.max_snapshot_age_ms or _number(table.properties, _AGE, usual_ms)
        for number, snapshot in enumerate(_behind(table, ref.snapshot_id)):
            if number < least or snapshot.timestamp_ms > now_ms - age_ms:
                yield snapshot.snapshot_id


def _unpublished(table: Table, now_ms: int) -> Iterator[int]:
    """The snapshots that never were the table's current one and may become it yet."""
    head = table.metadata.refs.get(MAIN_BRANCH)
    published = {entry.snapshot_id for entry in table.metadata.snapshot_log}
    if head is not None:
        published |= {snapshot.snapshot_id for snapshot in _behind(table, head.snapshot_id)}
    oldest_ms = now_ms - _number(table.properties, _AGE, _USUAL_AGE_MS)
    for snapshot in table.snapshots():
        if snapshot.snapshot_id not in published and snapshot.timestamp_ms > oldest_ms:
            yield snapshot.snapshot_id


def _behind(table: Table, snapshot_id: int) -> Iterable[Snapshot]:
    """A snapshot and those that it was made from, the youngest first."""
    return ancestors_of(table.snapshot_by_id(snapshot_id), table.metadata)


def _number(properties: Mapping[str, str], name: str, usual: int) -> int:
    """What somebody has set; who has set something else than a number has set nothing."""
    told = properties.get(name, "")
    return int(told) if told.isdecimal() else usual


def _left_at(table: Table) -> dict[int, int]:
    """When each snapshot ceased to be the current one; what never was is not among them."""
    log = table.metadata.snapshot_log
    return {one.snapshot_id: after.timestamp_ms for one, after in pairwise(log)}


def _unreachable(table: Table, old: list[Snapshot]) -> set[str]:
    """The files of metadata that only these snapshots refer to."""
    gone = {snapshot.snapshot_id for snapshot in old}
    kept = [snapshot for snapshot in table.snapshots() if snapshot.snapshot_id not in gone]
    staying = _manifests(table, kept)
    return _lists(old) | (_manifests(table, old).keys() - staying.keys())


def _remove(table: Table, old: list[Snapshot]) -> None:
    """Commit, on condition that no branch or tag has been moved meanwhile, perhaps to one of these.

    No condition can say that there is no new one; so whoever calls has looked just before.
    """
    conditions = tuple(
        AssertRefSnapshotId.model_validate({"ref": name, "snapshot-id": ref.snapshot_id})
        for name, ref in table.metadata.refs.items()
    )
    gone = [snapshot.snapshot_id for snapshot in old]
    removal = RemoveSnapshotsUpdate.model_validate({"snapshot-ids": gone})
    transaction = RememberingTransaction(table)
    transaction._apply((removal,), conditions)  # noqa: SLF001 - PyIceberg's own expiry has no conditions
    transaction.commit_transaction()


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
