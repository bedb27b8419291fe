"""The identity of a cluster, stored in both of its stores.

A metadata store and an object store only work together: an index that points into the wrong bucket loses data
at the next garbage collection. So both name their cluster: the metadata store in the *record*
(`CLUSTER_KEY`), the object store in the *mark* (`dray-cluster.json`). Both carry the format of the cluster as
a tag, so that a build that does not support it refuses the stores.

A cluster is created in three steps, each of them one atomic operation, in this order:

    record "forming"   decides the id, also between processes that start at the same time
    mark               never overwritten, so it decides between two metadata stores that claim one bucket
    record "formed"    from now on, a bucket without the mark is the wrong bucket

If a process dies in between, the next one continues; `next_step` reads both stores and returns what is left.
A mark without a record can only mean that the metadata is lost or elsewhere.
"""

import base64
import re
from dataclasses import dataclass
from typing import Final

import msgspec

from dray.cluster.identity_plan import (
    CLUSTER_ID_PATTERN,
    MARK_PATH,
    ClusterMark,
    ClusterRecord,
    Contended,
    Seen,
    Step,
    StoreNames,
    Wanted,
    decode_identity,
    next_step,
)
from dray.cluster.restores import RestoreMarker, decode_marker, successor
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY, restore_key
from dray.meta.port import ABSENT, Check, MetaStore, OutcomeUnknown, Put, Version
from dray.objects.port import AlreadyExists, NotFound, ObjectStore
from dray.runtime import Clock, Entropy

_ROUNDS_MAX: Final = 16
_RESTORE_KEY: Final = restore_key(CLUSTER_DOMAIN)


@dataclass(frozen=True, slots=True)
class ClusterIdentity:
    """The cluster that both stores belong to."""

    cluster_id: str
    domains: int
    created_at_ms: int
    generation: int = 0


async def claim(
    meta: MetaStore,
    objects: ObjectStore,
    *,
    cluster_id: str | None,
    domains: int | None,
    clock: Clock,
    entropy: Entropy,
    names: StoreNames | None = None,
    domains_if_new: int = 1,
) -> ClusterIdentity:
    """Create the cluster, finish its creation, or join it; raises `IdentityError` if that is impossible.

    Without `domains`, any number is accepted, and a new cluster gets `domains_if_new`. Errors of the stores
    themselves propagate. It is always safe to call this again.
    """
    wanted = Wanted(_checked_id(cluster_id), domains, names or StoreNames())
    fresh = ClusterRecord(
        cluster_id=wanted.cluster_id or new_cluster_id(entropy),
        domains=domains_if_new if domains is None else domains,
        created_at_ms=clock.now_ms(),
        state="forming",
    )
    for _ in range(_ROUNDS_MAX):
        seen = await _read(meta, objects, wanted.names)
        step = next_step(seen, wanted)
        record = seen.record or fresh
        if step == "done":
            return _identity(record)
        await _take(step, record, seen.version, meta, objects)
    raise Contended(f"other processes keep changing the metadata store {wanted.names.metadata}; start again")


async def find(meta: MetaStore, objects: ObjectStore, names: StoreNames) -> ClusterIdentity | None:
    """Return the cluster that both stores belong to, without changing anything; None if there is none yet.

    Raises `IdentityError` like `claim`.
    """
    seen = await _read(meta, objects, names)
    if seen.record is None and seen.mark is None and seen.restore is None:
        return None
    if next_step(seen, Wanted(None, None, names)) != "done" or seen.record is None:
        return None
    return _identity(seen.record)


def _identity(record: ClusterRecord) -> ClusterIdentity:
    return ClusterIdentity(record.cluster_id, record.domains, record.created_at_ms, record.generation)


def new_cluster_id(entropy: Entropy) -> str:
    """Return a random UUID in Kafka's format: 22 characters of base64url, the first no dash."""
    while True:
        token = bytearray(entropy.token(16))
        token[6] = token[6] & 0x0F | 0x40
        token[8] = token[8] & 0x3F | 0x80
        text = base64.urlsafe_b64encode(token).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text


async def _read(meta: MetaStore, objects: ObjectStore, names: StoreNames) -> Seen:
    """Read both stores in an order that is consistent while other processes create the cluster.

    The mark is read after the record, so a formed record without a mark is a fact. If there is a mark but no
    record, the record is read again: it may have been written in between, always before the mark.
    """
    restore = await _read_restore(meta)
    record, version = await _read_record(meta, names)
    mark = await read_mark(objects, names)
    if record is None and mark is not None:
        record, version = await _read_record(meta, names)
    if record is None:
        return Seen(record, version, mark, restore)
    next_one = None if mark is None else await successor(objects, record.generation)
    return Seen(record, version, mark, successor=next_one)


async def _read_restore(meta: MetaStore) -> RestoreMarker | None:
    entry = await meta.get(CLUSTER_DOMAIN, _RESTORE_KEY)
    return None if entry is None else decode_marker(entry.key, entry.value)


async def _read_record(meta: MetaStore, names: StoreNames) -> tuple[ClusterRecord | None, Version]:
    entry = await meta.get(CLUSTER_DOMAIN, CLUSTER_KEY)
    if entry is None:
        return None, ABSENT
    what = f"key {CLUSTER_KEY} of the metadata store {names.metadata}"
    return decode_identity(entry.value, ClusterRecord, what), entry.version


async def read_mark(objects: ObjectStore, names: StoreNames) -> ClusterMark | None:
    """Return the mark of an object store, or None if it holds no cluster; raises `IdentityError`."""
    try:
        data = await objects.get(MARK_PATH)
    except NotFound:
        return None
    return decode_identity(data, ClusterMark, f"{MARK_PATH} in the object store {names.objects}")


async def _take(
    step: Step, record: ClusterRecord, version: Version, meta: MetaStore, objects: ObjectStore
) -> None:
    """Take one step. Another process may have taken it; the caller reads the stores again."""
    if step == "write mark":
        try:
            await objects.put_new(MARK_PATH, [msgspec.json.encode(ClusterMark(cluster_id=record.cluster_id))])
        except AlreadyExists:
            return
    else:
        state = msgspec.structs.replace(record, state="formed") if step == "seal record" else record
        try:
            await meta.commit(
                CLUSTER_DOMAIN,
                [Check(CLUSTER_KEY, version), Check(_RESTORE_KEY, ABSENT)],
                [Put(CLUSTER_KEY, msgspec.json.encode(state))],
            )
        except OutcomeUnknown:
            return


def _checked_id(cluster_id: str | None) -> str | None:
    if cluster_id is not None and not re.fullmatch(CLUSTER_ID_PATTERN, cluster_id):
        raise ValueError(f"a cluster id is 22 characters of base64url, not {cluster_id!r}")
    return cluster_id
