"""The next step in creating or joining a cluster, given what its two stores contain. Pure.

IdentityError         the operator must choose other stores or settings
├── OtherCluster      the stores, or a store and the settings, name different clusters
├── HalfMissing       one store belongs to a cluster and the other is empty
├── RestoreUnfinished a restore of the metadata store was interrupted
├── Superseded        the metadata was restored into another store since
├── NewerFormat       written by a newer Dray
├── OlderFormat       written by an older Dray, in a layout that this one cannot read
├── DomainsMismatch   the settings ask for another number of meta domains than the cluster has
├── Unreadable        a record or mark was not written by Dray
└── Contended         other processes kept changing the stores; start again
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeVar

import msgspec
from typing_extensions import Buffer

from dray.cluster.restores import Generation, RestoreMarker, generation_path
from dray.meta.port import Version

T = TypeVar("T")

FORMAT: Final = 2
"""The layout of everything this build writes, in both stores: names of keys and paths, and all values."""

CLUSTER_ID_PATTERN: Final = r"^[A-Za-z0-9_][A-Za-z0-9_-]{21}$"
MARK_PATH: Final = "dray-cluster.json"


ClusterId = Annotated[str, msgspec.Meta(pattern=CLUSTER_ID_PATTERN)]


class IdentityError(Exception):
    """The stores cannot be used together, or not by this process; nothing was changed in either."""


class OtherCluster(IdentityError):
    """The two stores, or a store and the settings, name different clusters."""


class HalfMissing(IdentityError):
    """One store belongs to a cluster, and the other one is empty."""


class RestoreUnfinished(IdentityError):
    """The metadata store holds part of a backup, whose restore was interrupted or is running."""


class Superseded(IdentityError):
    """The cluster's metadata was restored into another store, which alone knows what happened since."""


class NewerFormat(IdentityError):
    """A store was written by a newer Dray than this one."""


class OlderFormat(IdentityError):
    """A store was written by an older Dray, in a layout that this one cannot read."""


class DomainsMismatch(IdentityError):
    """The settings have another number of meta domains than the cluster."""


class Unreadable(IdentityError):
    """The record or mark was not written by Dray, or is damaged."""


class Contended(IdentityError):
    """Other processes kept changing the stores; a retry may help."""


class ClusterRecord(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="format", tag=FORMAT
):
    """The record in the metadata store."""

    cluster_id: ClusterId
    domains: Annotated[int, msgspec.Meta(ge=1)]
    created_at_ms: int
    state: Literal["forming", "formed"]
    generation: int = 0
    """How often the metadata was restored from a backup."""


class ClusterMark(msgspec.Struct, frozen=True, kw_only=True, tag_field="format", tag=FORMAT):
    """The mark in the object store."""

    cluster_id: ClusterId


class _Tag(msgspec.Struct, frozen=True):
    """The part that all formats, past and future, share."""

    format: int


@dataclass(frozen=True, slots=True)
class StoreNames:
    """The names of the two stores in messages: their URLs."""

    metadata: str = "in use"
    objects: str = "in use"


@dataclass(frozen=True, slots=True)
class Wanted:
    """The cluster that the settings describe; None accepts any."""

    cluster_id: str | None
    domains: int | None
    names: StoreNames


@dataclass(frozen=True, slots=True)
class Seen:
    """What the stores contain. `version` is that of the record, `ABSENT` without one."""

    record: ClusterRecord | None
    version: Version
    mark: ClusterMark | None
    restore: RestoreMarker | None = None
    successor: Generation | None = None


Step = Literal["write record", "write mark", "seal record", "done"]


def next_step(seen: Seen, wanted: Wanted) -> Step:
    """Return the next step, or raise `IdentityError` if these stores cannot be used."""
    record, mark, names = seen.record, seen.mark, wanted.names
    if seen.restore is not None:
        raise _restore_unfinished(seen.restore, names)
    if record is None:
        if mark is not None:
            raise _metadata_missing(mark, names)
        return "write record"
    _check_wanted(record, wanted)
    if mark is None:
        if record.state == "formed":
            raise _mark_missing(record, names)
        return "write mark"
    if mark.cluster_id != record.cluster_id:
        raise OtherCluster(
            f"the metadata store {names.metadata} belongs to cluster {record.cluster_id} "
            f"but the object store {names.objects} holds cluster {mark.cluster_id}: "
            "point both to the same cluster or choose an empty prefix"
        )
    if seen.successor is not None:
        raise Superseded(superseded(seen.successor, names))
    return "done" if record.state == "formed" else "seal record"


def superseded(by: Generation, names: StoreNames) -> str:
    """Return the message about a metadata store whose backup was restored elsewhere."""
    return (
        f"the metadata store {names.metadata} is superseded: a backup of it was restored into "
        f"{by.metadata or 'another store'}; use that one. If that restore was abandoned before any broker "
        f"used it, delete {generation_path(by.generation)} in the object store {names.objects}"
    )


def _check_wanted(record: ClusterRecord, wanted: Wanted) -> None:
    where = f"the metadata store {wanted.names.metadata}"
    if wanted.cluster_id is not None and wanted.cluster_id != record.cluster_id:
        raise OtherCluster(
            f"{where} belongs to cluster {record.cluster_id} but cluster.id is set to {wanted.cluster_id}: "
            "fix cluster.id or choose that cluster's stores"
        )
    if wanted.domains not in (None, record.domains):
        raise DomainsMismatch(
            f"{where} has {record.domains} meta domains but cluster.domains is {wanted.domains}: "
            f"the number cannot change; set cluster.domains to {record.domains}"
        )


def _restore_unfinished(marker: RestoreMarker, names: StoreNames) -> RestoreUnfinished:
    return RestoreUnfinished(
        f"the metadata store {names.metadata} holds part of backup {marker.backup_id}, whose restore is not "
        "complete: run 'dray metadata restore' again"
    )


def _metadata_missing(mark: ClusterMark, names: StoreNames) -> HalfMissing:
    return HalfMissing(
        f"the object store {names.objects} belongs to cluster {mark.cluster_id} but the metadata store "
        f"{names.metadata} is empty: point to that cluster's metadata store, restore a backup of it with "
        "'dray metadata restore', or choose an empty prefix"
    )


def _mark_missing(record: ClusterRecord, names: StoreNames) -> HalfMissing:
    return HalfMissing(
        f"the metadata store {names.metadata} belongs to cluster {record.cluster_id} "
        f"but the object store {names.objects} has no {MARK_PATH}: "
        "point to that cluster's object store or choose an empty metadata store"
    )


def decode_identity(data: Buffer, kind: type[T], what: str) -> T:
    """Return a record or a mark; raises `IdentityError` that says what it is in."""
    try:
        tag = msgspec.json.decode(data, type=_Tag)
        if tag.format > FORMAT:
            raise NewerFormat(
                f"{what} was written by a newer Dray (format {tag.format}, "
                f"this build knows {FORMAT}): upgrade Dray"
            )
        if 0 < tag.format < FORMAT:
            raise OlderFormat(
                f"{what} was written by an older Dray (format {tag.format}, this build reads {FORMAT} only): "
                "start with an empty data directory and bucket, or use the Dray that wrote these"
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(
            f"{what} was not written by Dray ({error}): restore it, or choose empty stores"
        ) from error
