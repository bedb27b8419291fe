"""A cluster in real stores, SQLite and a directory, whose keys and objects tests damage by hand."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from dray.check.deps import CheckDeps
from dray.check.findings import Finding
from dray.check.repairer import Repaired, Repairer
from dray.check.run import ClusterCheck
from dray.cluster.topics import Topic, find_topic
from dray.ids import Domain, MetaDomain, StreamId, meta_domain
from dray.index import (
    IndexEntry,
    ParquetEntry,
    StreamHead,
    WalEntry,
    decode_entry,
    decode_head,
    encode_entry,
    encode_head,
)
from dray.keyspace import CLUSTER_DOMAIN, entries_after, entry_key, head_key, log_domain
from dray.meta.port import Delete, Put, Write
from dray.meta.reading import scan_all
from dray.scan.access import OpenCluster
from dray.server.access import cluster_access
from dray.settings import DraySettings, load_settings

OLD_S = 1_700_000_000
DAY_MS = 86_400_000


def settings_in(data_dir: Path) -> DraySettings:
    pairs = {
        "metadata.url": f"sqlite:{data_dir}/metadata.sqlite",
        "storage.url": f"file:{data_dir}/objects",
        "tables.catalog": f"sqlite:{data_dir}/tables.sqlite",
    }
    return load_settings(None, {}, {}, tuple(f"{key}={value}" for key, value in pairs.items())).settings


@dataclass(slots=True)
class Stores:
    """The stores of a stopped cluster."""

    data_dir: Path
    cluster: OpenCluster
    settings: DraySettings

    @property
    def now_ms(self) -> int:
        return self.cluster.clock.now_ms()

    # Reading

    async def topic(self, name: str) -> Topic:
        found = await find_topic(self.cluster.meta, name)
        assert found is not None
        return found

    async def stream(self, topic: str, partition: int = 0) -> StreamId:
        return (await self.topic(topic)).streams[partition]

    def number(self, stream: StreamId) -> MetaDomain:
        return meta_domain(stream, self.cluster.domains)

    def domain(self, stream: StreamId) -> Domain:
        return log_domain(self.number(stream))

    async def head(self, stream: StreamId) -> StreamHead:
        stored = await self.cluster.meta.get(self.domain(stream), head_key(stream))
        assert stored is not None
        return decode_head(stored.key, stored.value)

    async def entries(self, stream: StreamId) -> list[IndexEntry]:
        bounds = entries_after(stream, -1)
        return [
            decode_entry(stored.key, stored.value)
            async for stored in scan_all(self.cluster.meta, self.domain(stream), bounds)
        ]

    async def wal_entries(self, topic: str = "hot") -> list[WalEntry]:
        found = await self.entries(await self.stream(topic))
        return [entry for entry in found if isinstance(entry, WalEntry)]

    async def file(self) -> ParquetEntry:
        found = await self.entries(await self.stream("cold"))
        return next(entry for entry in found if isinstance(entry, ParquetEntry))

    async def everything(self) -> list[tuple[str, bytes]]:
        """Return all keys of the topics and of the log, with their values."""
        domains = [log_domain(MetaDomain(number)) for number in range(self.cluster.domains)]
        return [one for domain in (CLUSTER_DOMAIN, *domains) for one in await self.keys_of(domain)]

    async def keys_of(self, domain: Domain) -> list[tuple[str, bytes]]:
        found: list[tuple[str, bytes]] = []
        for depth in range(3, 9):
            slashes = "/" * (depth - 1)
            bounds = (f"/dray{slashes}", f"/dray~{slashes}")
            found += [(one.key, one.value) async for one in scan_all(self.cluster.meta, domain, bounds)]
        return found

    # Damage

    async def write(self, domain: Domain, *writes: Write) -> None:
        await self.cluster.meta.commit(domain, [], writes)

    async def put_entry(self, entry: IndexEntry, **changes: object) -> None:
        """Change an entry; it keeps its key."""
        changed = msgspec.structs.replace(entry, **changes)
        await self.write(self.domain(entry.stream), Put(key_of(entry), encode_entry(changed)))

    async def delete_entry(self, entry: IndexEntry) -> None:
        await self.write(self.domain(entry.stream), Delete(key_of(entry)))

    async def put_head(self, stream: StreamId, **changes: object) -> None:
        head = msgspec.structs.replace(await self.head(stream), **changes)
        await self.write(self.domain(stream), Put(head_key(stream), encode_head(head)))

    def path(self, name: str) -> Path:
        return self.data_dir / "objects" / name

    def put_object(self, name: str, *, old: bool) -> Path:
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"left behind")
        if old:
            os.utime(path, (OLD_S, OLD_S))
        return path

    # Checking

    def deps(self, *, deep: bool = False, objects_at_once: int = 200_000) -> CheckDeps:
        return CheckDeps(
            self.cluster.meta,
            self.cluster.objects,
            self.cluster.domains,
            self.cluster.clock,
            self.settings.log,
            deep=deep,
            objects_at_once=objects_at_once,
            pause_s=0.0,
        )

    async def check(self, *topics: str, deep: bool = False, objects_at_once: int = 200_000) -> list[Finding]:
        wanted = [await self.topic(name) for name in topics]
        check = ClusterCheck(self.deps(deep=deep, objects_at_once=objects_at_once))
        return [finding async for finding in check.run(wanted)]

    async def repair(self) -> list[Repaired | None]:
        """Check and repair as `dray check --repair` does; returns the outcomes."""
        deps = self.deps()
        repairer = Repairer(deps)
        return [await repairer.repair(finding) async for finding in ClusterCheck(deps).run()]


def key_of(entry: IndexEntry) -> str:
    return entry_key(entry.stream, entry.end_offset, entry.cumulative_size)


def kinds(found: Sequence[Finding]) -> set[str]:
    return {type(one).__name__ for one in found}


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncIterator[Stores]:
    settings = settings_in(data_dir)
    async with cluster_access(settings)() as cluster:
        yield Stores(data_dir, cluster, settings)
