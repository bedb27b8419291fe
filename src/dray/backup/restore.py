"""Restore of a backup into an empty metadata store.

    read the whole backup once ─▶ marker in every domain ─▶ keys, domain by domain ─▶ new generation
    in the object store ─▶ markers removed ─▶ cluster record, in one commit with the removal of its marker

It may be killed at any point. Until the last commit brokers refuse the store because of the marker; started
again, with this or another backup, it first deletes what the earlier attempt wrote. Each commit checks the
marker of its domain, which every attempt replaces: an earlier one that is still running stops there, and
cannot write into a store that brokers use already. Every attempt puts the marker of the cluster domain first,
and reads it again after each other marker: if it is still its own, later attempts have yet to replace that
other marker; if not, the attempt removes what it has just put, and stops.

What a backup cannot know is what happened after it. Therefore

- producer ids continue at the time of the restore, in units in which no cluster allocates as many;
- the tables of all topics are rebuilt from the restored index (`index.table_records.Rebuild`);
- the generation makes brokers refuse the store that was saved (`cluster.restores`).

No value contains a version of its key or of another one: versions are assigned again.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final

import msgspec

from dray.backup.commits import commits_of
from dray.backup.contents import all_domains
from dray.backup.errors import BackupError, RestoreTakenOver, TargetNotEmpty, WrongBucket
from dray.backup.places import BackupSource
from dray.backup.reading import read_through, records_of, saved_cluster
from dray.backup.save import Progress
from dray.cluster import IdentityError, StoreNames
from dray.cluster.identity import read_mark
from dray.cluster.identity_plan import ClusterRecord
from dray.cluster.producer_ids import decode_next_producer_id, encode_next_producer_id
from dray.cluster.restores import (
    Generation,
    RestoreMarker,
    announce,
    decode_marker,
    encode_marker,
    newest_generation,
)
from dray.cluster.topics import decode_topic
from dray.formats.backup_v1 import BackupHeader, BackupTotals, Record
from dray.ids import Domain
from dray.index.stored import CorruptValue
from dray.index.table_records import Rebuild, encode_table_record
from dray.keyspace import (
    CLUSTER_DOMAIN,
    CLUSTER_KEY,
    PRODUCER_IDS_KEY,
    TOPICS_PREFIX,
    brokers_range,
    rebuild_key,
    rebuilds_range,
    restore_key,
)
from dray.meta.port import ABSENT, Check, Conflict, Delete, MetaStore, Put, Version, Write
from dray.objects.port import AlreadyExists, ObjectStore
from dray.runtime import Clock, Entropy

_PRODUCER_ID_BITS: Final = 20
"""A million ids a millisecond: 61 bits today."""


@dataclass(frozen=True, slots=True)
class Restored:
    """A restore that is complete."""

    header: BackupHeader
    cluster_id: str
    records: int
    generation: int


@dataclass(slots=True)
class _Attempt:
    """The markers of this attempt, by domain."""

    header: BackupHeader
    cluster: ClusterRecord
    token: str
    markers: dict[Domain, Version] = field(default_factory=dict)
    records: int = 0
    next_producer_id: int = 0


class Restorer:
    """Restores into one metadata store; `objects` is the object store of the saved cluster."""

    def __init__(
        self, meta: MetaStore, objects: ObjectStore, clock: Clock, entropy: Entropy, names: StoreNames
    ) -> None:
        self._meta = meta
        self._objects = objects
        self._clock = clock
        self._entropy = entropy
        self._names = names

    async def restore(
        self,
        source: BackupSource,
        begin: Callable[[BackupHeader, BackupTotals], None] = lambda _header, _totals: None,
        progress: Progress = lambda _records, _bytes: None,
    ) -> Restored:
        """Restore; raises `CorruptBackup` before anything is changed, `BackupError`, or a store's error."""
        header, totals = await read_through(source)
        attempt = _Attempt(header, saved_cluster(header), self._entropy.token(16).hex())
        await self._require_bucket(attempt.cluster)
        await self._require_empty(attempt.cluster.domains)
        begin(header, totals)
        await self._take(attempt)
        async for domain, records in records_of(source):
            await self._write(attempt, domain, records)
            progress(len(records), sum(len(record.value) for record in records))
        return await self._complete(attempt)

    async def _require_bucket(self, cluster: ClusterRecord) -> None:
        try:
            mark = await read_mark(self._objects, self._names)
        except IdentityError as error:
            raise WrongBucket(str(error)) from error
        if mark is None or mark.cluster_id != cluster.cluster_id:
            holds = "no cluster" if mark is None else f"cluster {mark.cluster_id}"
            raise WrongBucket(
                f"the backup is of cluster {cluster.cluster_id}, but the object store {self._names.objects} "
                f"holds {holds}: name the object store of that cluster with --storage"
            )

    async def _require_empty(self, domains: int) -> None:
        """Raise `TargetNotEmpty` unless the store is empty, or holds only part of an earlier restore."""
        store, meta = self._names.metadata, self._meta
        live = await meta.scan(CLUSTER_DOMAIN, *brokers_range())
        if live:
            ids = ", ".join(entry.key.rpartition("/")[2] for entry in live)
            raise TargetNotEmpty(f"brokers use the metadata store {store} (ids {ids}): stop them first")
        if await meta.get(CLUSTER_DOMAIN, CLUSTER_KEY) is not None:
            raise TargetNotEmpty(
                f"the metadata store {store} holds a cluster already: restore into an empty one (another "
                "file, prefix or namespace), and point the brokers to that"
            )
        if await meta.get(CLUSTER_DOMAIN, restore_key(CLUSTER_DOMAIN)) is not None:
            return
        async with meta.snapshot() as snapshot:
            for domain in all_domains(domains):
                async with aclosing(snapshot.read(domain)) as pages:
                    async for page in pages:
                        raise TargetNotEmpty(
                            f"the metadata store {store} holds no cluster, but other keys, such as "
                            f"{page[0].key}: restore into an empty one (another file, prefix or namespace)"
                        )

    async def _take(self, attempt: _Attempt) -> None:
        """Put the marker into every domain, and delete what earlier attempts have left there."""
        key = restore_key(CLUSTER_DOMAIN)
        earlier = await self._meta.get(CLUSTER_DOMAIN, key)
        number = max(attempt.cluster.domains, 0 if earlier is None else _domains_of(earlier.value))
        marker = RestoreMarker(attempt.token, attempt.header.backup_id, self._clock.now_ms(), number)
        check = Check(key, ABSENT if earlier is None else earlier.version)
        await self._mark(attempt, CLUSTER_DOMAIN, [check, Check(CLUSTER_KEY, ABSENT)], marker)
        for domain in all_domains(number):
            if domain != CLUSTER_DOMAIN:
                await self._mark(attempt, domain, [], marker)
                await self._require_newest(attempt, domain)
            if earlier is not None:
                await self._clear(attempt, domain)

    async def _mark(
        self, attempt: _Attempt, domain: Domain, checks: Sequence[Check], marker: RestoreMarker
    ) -> None:
        put = Put(restore_key(domain), encode_marker(marker))
        result = await self._meta.commit(domain, checks, [put])
        if isinstance(result, Conflict):
            raise _taken_over(self._names)
        attempt.markers[domain] = result.of[0]

    async def _require_newest(self, attempt: _Attempt, domain: Domain) -> None:
        """Stop if another attempt has begun; brokers may use the store already, so the marker is removed."""
        if not await self._is_newest(attempt):
            key = restore_key(domain)
            await self._meta.commit(domain, [Check(key, attempt.markers[domain])], [Delete(key)])
            raise _taken_over(self._names)

    async def _is_newest(self, attempt: _Attempt) -> bool:
        stored = await self._meta.get(CLUSTER_DOMAIN, restore_key(CLUSTER_DOMAIN))
        return stored is not None and stored.version == attempt.markers[CLUSTER_DOMAIN]

    async def _clear(self, attempt: _Attempt, domain: Domain) -> None:
        async with self._meta.snapshot() as snapshot, aclosing(snapshot.read(domain)) as pages:
            async for page in pages:
                deletes: list[Write] = [
                    Delete(entry.key) for entry in page if entry.key != restore_key(domain)
                ]
                await self._commit(attempt, domain, deletes)

    async def _write(self, attempt: _Attempt, domain: Domain, records: Sequence[Record]) -> None:
        if domain not in attempt.markers:
            raise BackupError(
                f"the backup has keys in the unknown domain {domain}: restore it with the Dray that wrote it"
            )
        if domain == CLUSTER_DOMAIN:
            writes = self._cluster_writes(attempt, records)
        else:
            writes = [Put(record.key, record.value) for record in records]
        attempt.records += len(records)
        await self._commit(attempt, domain, writes)

    def _cluster_writes(self, attempt: _Attempt, records: Iterable[Record]) -> list[Write]:
        """Return the writes of cluster-wide keys; each topic's table is to be rebuilt.

        A corrupt value is restored as it is.
        """
        first, end = rebuilds_range()
        writes: list[Write] = []
        for record in records:
            if first <= record.key < end:
                continue
            if record.key == PRODUCER_IDS_KEY:
                with suppress(CorruptValue):
                    attempt.next_producer_id = decode_next_producer_id(record.key, record.value)
                continue
            writes.append(Put(record.key, record.value))
            if record.key.startswith(TOPICS_PREFIX):
                with suppress(CorruptValue):
                    topic = decode_topic(record.key, record.value)
                    rebuild = Rebuild(self._entropy.token(16).hex(), after_restore=True)
                    writes.append(Put(rebuild_key(topic.topic_id), encode_table_record(rebuild)))
        return writes

    async def _commit(self, attempt: _Attempt, domain: Domain, writes: Sequence[Write]) -> None:
        """Commit the writes, in as many commits as the store's limits take."""
        check = Check(restore_key(domain), attempt.markers[domain])
        for chunk in commits_of(check, writes, self._meta.limits):
            if isinstance(await self._meta.commit(domain, [check], chunk), Conflict):
                raise _taken_over(self._names)

    async def _complete(self, attempt: _Attempt) -> Restored:
        now_ms = self._clock.now_ms()
        cluster = msgspec.structs.replace(
            attempt.cluster, state="formed", generation=await self._announce(attempt, now_ms)
        )
        for domain in attempt.markers:
            if domain != CLUSTER_DOMAIN:
                await self._commit(attempt, domain, [Delete(restore_key(domain))])
        marker = restore_key(CLUSTER_DOMAIN)
        next_producer_id = max(attempt.next_producer_id, now_ms << _PRODUCER_ID_BITS)
        done = await self._meta.commit(
            CLUSTER_DOMAIN,
            [Check(marker, attempt.markers[CLUSTER_DOMAIN]), Check(CLUSTER_KEY, ABSENT)],
            [
                Put(PRODUCER_IDS_KEY, encode_next_producer_id(next_producer_id)),
                Put(CLUSTER_KEY, msgspec.json.encode(cluster)),
                Delete(marker),
            ],
        )
        if isinstance(done, Conflict):
            raise _taken_over(self._names)
        return Restored(attempt.header, cluster.cluster_id, attempt.records, cluster.generation)

    async def _announce(self, attempt: _Attempt, now_ms: int) -> int:
        number = max(attempt.cluster.generation, await newest_generation(self._objects)) + 1
        generation = Generation(
            cluster_id=attempt.cluster.cluster_id,
            generation=number,
            backup_id=attempt.header.backup_id,
            restored_at_ms=now_ms,
            metadata=self._names.metadata,
        )
        # After the number is chosen: a later attempt that announces its own first takes the same number.
        if not await self._is_newest(attempt):
            raise _taken_over(self._names)
        try:
            await announce(self._objects, generation)
        except AlreadyExists as error:
            raise RestoreTakenOver(
                f"another restore of cluster {attempt.cluster.cluster_id} was completed just now: "
                "use its metadata store, or restore again"
            ) from error
        return number


def _domains_of(marker: bytes) -> int:
    try:
        return decode_marker(restore_key(CLUSTER_DOMAIN), marker).domains
    except CorruptValue as error:
        raise TargetNotEmpty(f"{error}; or restore into an empty store") from error


def _taken_over(names: StoreNames) -> RestoreTakenOver:
    return RestoreTakenOver(
        f"another restore into the metadata store {names.metadata} has begun; this one has stopped"
    )
