"""Metadata stores of every kind, with a small cluster in them, and backups of it."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import msgspec

from dray.backup.contents import all_domains
from dray.backup.places import FileSink, FileSource
from dray.backup.restore import Restored, Restorer
from dray.backup.save import Saved, Saver
from dray.cluster import ClusterIdentity, StoreNames, claim
from dray.cluster.broker_ids import BrokerIdClaim
from dray.cluster.producer_ids import ProducerIds, encode_next_producer_id
from dray.cluster.topics import Topic
from dray.groups.stored import encode_offset
from dray.groups.types import CommittedOffset
from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import StreamHead, encode_head
from dray.keyspace import (
    CLUSTER_DOMAIN,
    PRODUCER_IDS_KEY,
    broker_id_key,
    group_domain,
    head_key,
    log_domain,
    offset_key,
    topic_key,
)
from dray.meta.memory import MemoryMetaServer, MemoryMetaStore
from dray.meta.port import MetaStore, Put, Versions
from dray.objects.memory import MemoryBucket, MemoryObjects
from dray.runtime import SystemClock, SystemEntropy, Tasks, Threads
from dray.testing.oxia_server import OxiaServerSettings
from tests.meta import etcd_harness, sqlite_harness
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.oxia_harness import TTL_MS, served

DOMAINS: Final = 3
CLOCK: Final = SystemClock()
ENTROPY: Final = SystemEntropy()
Keys = dict[tuple[Domain, str], bytes]


class OpenStore(Protocol):
    """Opens a new, empty store of one kind."""

    def __call__(self) -> AbstractAsyncContextManager[MetaStore]: ...


@asynccontextmanager
async def memory_store() -> AsyncIterator[MetaStore]:
    tasks = Tasks()
    yield MemoryMetaStore(MemoryMetaServer(CLOCK), CLOCK, ENTROPY, tasks=tasks)
    await tasks.stop()


def opener(kind: str, folder: Path, etcd: EtcdCluster | None) -> OpenStore:
    """Return a function that opens stores of this kind."""

    @asynccontextmanager
    async def oxia() -> AsyncIterator[MetaStore]:
        async with served(OxiaServerSettings(shards=4, session_ttl_min_ms=TTL_MS)) as harness:
            yield await harness.open()

    numbers = iter(range(100))
    if kind == "sqlite":
        return lambda: sqlite_harness.opened(folder / f"{next(numbers)}.sqlite")
    if kind == "etcd":
        assert etcd is not None
        return lambda: etcd_harness.opened(etcd.addresses)
    return oxia if kind == "oxia" else memory_store


@dataclass
class Cluster:
    """A cluster in a metadata store and a bucket."""

    meta: MetaStore
    objects: MemoryObjects = field(default_factory=lambda: MemoryObjects(MemoryBucket(CLOCK)))

    async def claim(self, domains: int = DOMAINS, meta: MetaStore | None = None) -> ClusterIdentity:
        return await claim(
            meta or self.meta, self.objects, cluster_id=None, domains=domains, clock=CLOCK, entropy=ENTROPY
        )

    async def save(self, path: Path, meta: MetaStore | None = None) -> Saved:
        threads = Threads("backup", 1)
        try:
            saver = Saver(meta or self.meta, "test", CLOCK, ENTROPY, threads=threads)
            return await saver.save(lambda _: FileSink(path))
        finally:
            await threads.stop()

    def restorer(self, target: MetaStore) -> Restorer:
        return Restorer(target, self.objects, CLOCK, ENTROPY, StoreNames("target:", "bucket:"))

    async def restore(self, path: Path, target: MetaStore) -> Restored:
        return await self.restorer(target).restore(FileSource(path))


async def put_all(meta: MetaStore, keys: Mapping[tuple[Domain, str], bytes]) -> None:
    for (domain, key), value in keys.items():
        assert isinstance(await meta.commit(domain, [], [Put(key, value)]), Versions)


async def all_keys(meta: MetaStore, domains: int = DOMAINS) -> Keys:
    found: Keys = {}
    async with meta.snapshot() as snapshot:
        for domain in all_domains(domains):
            async for page in snapshot.read(domain):
                found |= {(domain, entry.key): entry.value for entry in page}
    return found


def topic(name: str, *streams: int) -> Topic:
    return Topic(name, name.encode().ljust(16, b"."), tuple(map(StreamId, streams)), {}, 1)


def topic_keys(made: Topic, high_watermark: int = 0) -> Keys:
    """Return the keys of a topic and its heads."""
    head = encode_head(StreamHead(high_watermark=high_watermark))
    heads = {(log_domain(meta_domain(stream, DOMAINS)), head_key(stream)): head for stream in made.streams}
    return {(CLUSTER_DOMAIN, topic_key(made.name)): msgspec.msgpack.encode(made), **heads}


def some_keys() -> Keys:
    """Return what a small cluster might hold, in every domain."""
    offset = encode_offset(CommittedOffset(5, -1, "", 1, None, b""))
    return {
        **topic_keys(topic("orders", 1, 2, 3), 7),
        **topic_keys(topic("a.b-c_d", 4), 9),
        (CLUSTER_DOMAIN, broker_id_key(1)): msgspec.msgpack.encode(BrokerIdClaim("h", 1)),
        (CLUSTER_DOMAIN, PRODUCER_IDS_KEY): encode_next_producer_id(4_000),
        **{
            (group_domain(name, DOMAINS), offset_key(name, "orders", partition)): offset
            for name in ("a", "b/ü", "", "~")
            for partition in range(3)
        },
    }


async def next_producer_id(meta: MetaStore) -> int:
    return await ProducerIds(meta).next()


def log_domains() -> list[Domain]:
    return [log_domain(MetaDomain(number)) for number in range(DOMAINS)]
