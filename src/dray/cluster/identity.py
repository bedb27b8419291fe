"""Which cluster two stores belong to.

A metadata store and an object store make sense only together: an index that points into the wrong bucket
loses data as soon as something is collected. So both say whose they are: the metadata store in the *record*
(key `/dray/v1/cluster`), the object store in the *mark* (`dray-cluster.json`). Both carry the format of the
cluster as a tag, so that an older build can tell that it must keep its hands off.

A cluster is made in three steps, each of them one atomic operation, in this order:

    record "forming"   decides the id, also between processes that start at the same time
    mark               never overwritten, so it decides between two metadata stores that want one bucket
    record "formed"    from now on, a bucket without the mark is the wrong bucket

A process that dies in between leaves what the next one continues from; `next_step` looks at both stores and
says what is left. A mark without a record can only mean that the metadata is gone or elsewhere.
"""

import base64
import re
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec
from typing_extensions import Buffer

from dray.cluster.identity_plan import (
    CLUSTER_ID_PATTERN,
    FORMAT,
    MARK_PATH,
    ClusterMark,
    ClusterRecord,
    Contended,
    NewerFormat,
    Seen,
    Step,
    StoreNames,
    Unreadable,
    Wanted,
    next_step,
)
from dray.meta.port import ABSENT, Check, Domain, MetaStore, OutcomeUnknown, Put, Version
from dray.objects.port import AlreadyExists, NotFound, ObjectStore
from dray.runtime import Clock, Entropy

CLUSTER_DOMAIN: Final = Domain("cluster")
RECORD_KEY: Final = "/dray/v1/cluster"

T = TypeVar("T")

_ROUNDS_MAX: Final = 16


class _Tag(msgspec.Struct, frozen=True):
    """The one thing that every format, also a later one, has in common."""

    format: int


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """The cluster that both stores belong to."""

    cluster_id: str
    domains: int
    created_at_ms: int


async def claim(
    meta: MetaStore,
    objects: ObjectStore,
    *,
    cluster_id: str | None,
    domains: int,
    clock: Clock,
    entropy: Entropy,
    names: StoreNames | None = None,
) -> ClusterIdentity:
    """Make the cluster, finish making it, or join it; raise `IdentityError` if the stores cannot be used.

    Errors of the stores themselves pass through. Whatever happens, calling again is safe.
    """
    wanted = Wanted(_checked_id(cluster_id), domains, names or StoreNames())
    fresh = ClusterRecord(
        cluster_id=wanted.cluster_id or new_cluster_id(entropy),
        domains=domains,
        created_at_ms=clock.now_ms(),
        state="forming",
    )
    for _ in range(_ROUNDS_MAX):
        seen = await _look(meta, objects, wanted.names)
        step = next_step(seen, wanted)
        record = seen.record or fresh
        if step == "done":
            return ClusterIdentity(record.cluster_id, record.domains, record.created_at_ms)
        await _take(step, record, seen.version, meta, objects)
    raise Contended(f"the metadata store {wanted.names.metadata} keeps changing under our hands: start again")


async def find(meta: MetaStore, objects: ObjectStore, names: StoreNames) -> ClusterIdentity | None:
    """Return the cluster that both stores belong to and change nothing; None if there is none, or not yet.

    Raises `IdentityError` as `claim` does.
    """
    seen = await _look(meta, objects, names)
    if seen.record is None and seen.mark is None:
        return None
    wanted = Wanted(None, 1 if seen.record is None else seen.record.domains, names)
    if next_step(seen, wanted) != "done" or seen.record is None:
        return None
    return ClusterIdentity(seen.record.cluster_id, seen.record.domains, seen.record.created_at_ms)


def new_cluster_id(entropy: Entropy) -> str:
    """Return a random UUID as Kafka writes it: 22 characters of base64url that do not begin with a dash."""
    while True:
        token = bytearray(entropy.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        text = base64.urlsafe_b64encode(token).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


async def _look(meta: MetaStore, objects: ObjectStore, names: StoreNames) -> Seen:
    """Read both stores in an order that cannot deceive while others make the cluster.

    The mark is read after the record, so a formed record without a mark is true. A mark without a record may
    have been made since, so the record is read again: the record always comes first.
    """
    record, version = await _read_record(meta, names)
    mark = await _read_mark(objects, names)
    if record is None and mark is not None:
        record, version = await _read_record(meta, names)
    return Seen(record, version, mark)


async def _read_record(meta: MetaStore, names: StoreNames) -> tuple[ClusterRecord | None, Version]:
    entry = await meta.get(CLUSTER_DOMAIN, RECORD_KEY)
    if entry is None:
        return None, ABSENT
    what = f"key {RECORD_KEY} of the metadata store {names.metadata}"
    return _decoded(entry.value, ClusterRecord, what), entry.version


async def _read_mark(objects: ObjectStore, names: StoreNames) -> ClusterMark | None:
    try:
        data = await objects.get(MARK_PATH)
    except NotFound:
        return None
    return _decoded(data, ClusterMark, f"{MARK_PATH} in the object store {names.objects}")


async def _take(
    step: Step, record: ClusterRecord, version: Version, meta: MetaStore, objects: ObjectStore
) -> None:
    """Take one step. Who took it in the end does not matter: the stores are looked at again."""
    if step == "write mark":
        try:
            await objects.put_new(MARK_PATH, [msgspec.json.encode(ClusterMark(cluster_id=record.cluster_id))])
        except AlreadyExists:
            return
    else:
        state = msgspec.structs.replace(record, state="formed") if step == "seal record" else record
        try:
            await meta.commit(
                CLUSTER_DOMAIN, [Check(RECORD_KEY, version)], [Put(RECORD_KEY, msgspec.json.encode(state))]
            )
        except OutcomeUnknown:
            return


def _decoded(data: Buffer, kind: type[T], what: str) -> T:
    try:
        tag = msgspec.json.decode(data, type=_Tag)
        if tag.format > FORMAT:
            raise NewerFormat(
                f"{what} was written by a newer Dray (format {tag.format}, "
                f"this build knows {FORMAT}): upgrade Dray"
            )
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(
            f"{what} is not what Dray writes ({error}): restore it, or choose stores that hold nothing else"
        ) from error


def _checked_id(cluster_id: str | None) -> str | None:
    if cluster_id is not None and not re.fullmatch(CLUSTER_ID_PATTERN, cluster_id):
        raise ValueError(f"a cluster id is 22 characters of base64url, not {cluster_id!r}")
    return cluster_id
