"""Backup and restore over every kind of metadata store."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dray.backup.places import FileSource
from dray.backup.verify import verify
from dray.cluster import RestoreUnfinished, Superseded
from dray.cluster.restores import generation_path
from dray.ids import Domain, LoadId, MetaDomain
from dray.index.table_records import decode_rebuild
from dray.keyspace import CLUSTER_DOMAIN, CLUSTER_KEY, PRODUCER_IDS_KEY, load_key, rebuild_key, topic_key
from dray.meta.port import MetaStore, Put
from tests.backup.dying import Died, DyingStore
from tests.backup.worlds import (
    CLOCK,
    DOMAINS,
    Cluster,
    Keys,
    OpenStore,
    all_keys,
    log_domains,
    memory_store,
    next_producer_id,
    opener,
    put_all,
    some_keys,
    topic,
)
from tests.meta.etcd_cluster import EtcdCluster

KINDS = ["memory", "sqlite", pytest.param("etcd", marks=pytest.mark.real("etcd")), "oxia"]


@pytest.fixture(params=KINDS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> OpenStore:
    etcd: EtcdCluster | None = request.getfixturevalue("etcd") if request.param == "etcd" else None
    return opener(request.param, tmp_path, etcd)


def without_what_changes(keys: Keys) -> Keys:
    """Leave out what a restore writes itself."""
    return {
        place: value
        for place, value in keys.items()
        if place[1] not in (CLUSTER_KEY, PRODUCER_IDS_KEY) and "/rebuilds/" not in place[1]
    }


async def test_restored_store_has_the_same_keys(open_store: OpenStore, tmp_path: Path) -> None:
    async with open_store() as source, open_store() as target:
        cluster = Cluster(source)
        identity = await cluster.claim()
        await put_all(source, some_keys())
        session = await source.session(10_000)
        await source.commit(CLUSTER_DOMAIN, [], [Put("/dray/v1/brokers/1", b"?", session.id)])
        saved = await cluster.save(tmp_path / "backup")
        assert saved.records == len(some_keys())
        restored = await cluster.restore(tmp_path / "backup", target)
        assert (restored.cluster_id, restored.records) == (identity.cluster_id, len(some_keys()))
        after = await all_keys(target)
        assert without_what_changes(after) == without_what_changes(some_keys())
        assert not [key for _, key in after if "/restore/" in key or "/brokers/" in key]
        assert (await cluster.claim(meta=target)).cluster_id == identity.cluster_id


async def test_killed_restore_is_completed_by_another_one(open_store: OpenStore, tmp_path: Path) -> None:
    async with memory_store() as source:
        cluster = Cluster(source)
        await cluster.claim()
        await put_all(source, some_keys())
        await cluster.save(tmp_path / "backup")
        async with open_store() as target:
            for at in (1, 4, 9, 14, 20):
                dying = cast("MetaStore", DyingStore(target, at, after=True))
                with pytest.raises(Died):
                    await cluster.restorer(dying).restore(FileSource(tmp_path / "backup"))
                with pytest.raises(RestoreUnfinished):
                    await cluster.claim(meta=target)
            await cluster.restore(tmp_path / "backup", target)
            assert without_what_changes(await all_keys(target)) == without_what_changes(some_keys())
            await cluster.claim(meta=target)


async def test_corrupt_values_are_restored_as_they_are(tmp_path: Path) -> None:
    keys: Keys = {
        (CLUSTER_DOMAIN, topic_key("corrupt")): b"\xc1",
        (CLUSTER_DOMAIN, PRODUCER_IDS_KEY): b"\xc1",
        (log_domains()[0], load_key(MetaDomain(0), LoadId(b"l" * 16))): b"\xc1",
    }
    async with memory_store() as source, memory_store() as target:
        cluster = Cluster(source)
        await cluster.claim()
        await put_all(source, keys)
        await cluster.save(tmp_path / "backup")
        await cluster.restore(tmp_path / "backup", target)
        assert without_what_changes(await all_keys(target)) == without_what_changes(keys)
        assert await next_producer_id(target) > 0


async def test_backup_of_a_migrated_store_equals_the_first(open_store: OpenStore, tmp_path: Path) -> None:
    """From memory to the store and back."""
    async with memory_store() as first, open_store() as second, memory_store() as third:
        cluster = Cluster(first)
        await cluster.claim()
        await put_all(first, some_keys())
        await cluster.save(tmp_path / "one")
        await cluster.restore(tmp_path / "one", second)
        await cluster.save(tmp_path / "two", second)
        restored = await cluster.restore(tmp_path / "two", third)
        assert restored.generation == 2
        assert without_what_changes(await all_keys(third)) == without_what_changes(some_keys())


async def test_restore_skips_producer_ids_and_has_tables_rebuilt(tmp_path: Path) -> None:
    async with memory_store() as source, memory_store() as target:
        cluster = Cluster(source)
        await cluster.claim()
        await put_all(source, some_keys())
        await cluster.save(tmp_path / "backup")
        later = [await next_producer_id(source) for _ in range(3_000)]
        before_ms = CLOCK.now_ms()
        await cluster.restore(tmp_path / "backup", target)
        assert await next_producer_id(target) >= before_ms << 20 > max(later)
        key = rebuild_key(topic("orders").topic_id)
        rebuild = (await all_keys(target))[CLUSTER_DOMAIN, key]
        assert decode_rebuild(key, rebuild).after_restore
        assert (await verify(FileSource(tmp_path / "backup"))).problems == []


async def test_saved_store_is_superseded_by_the_restored_one(tmp_path: Path) -> None:
    async with memory_store() as source, memory_store() as target, memory_store() as other:
        cluster = Cluster(source)
        await cluster.claim()
        await cluster.save(tmp_path / "backup")
        assert (await cluster.claim()).generation == 0
        assert (await cluster.restore(tmp_path / "backup", target)).generation == 1
        with pytest.raises(Superseded, match=r"superseded.*target:.*delete dray-cluster/generation-00000001"):
            await cluster.claim()
        assert (await cluster.claim(meta=target)).generation == 1
        # again from the same backup: now the first target is superseded
        assert (await cluster.restore(tmp_path / "backup", other)).generation == 2
        with pytest.raises(Superseded):
            await cluster.claim(meta=target)
        assert (await cluster.claim(meta=other)).generation == 2
        # abandoned, as the message says
        await cluster.objects.delete(generation_path(2))
        assert (await cluster.claim(meta=target)).generation == 1


def _with_two(body: Callable[[MetaStore, MetaStore], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        async with memory_store() as source, memory_store() as target:
            await body(source, target)

    asyncio.run(run())


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
_keys = st.dictionaries(
    st.tuples(
        st.sampled_from(["cluster", "log-0", "log-1", "groups-0", "groups-1"]),
        st.lists(_names, min_size=1, max_size=4).map(lambda names: "/x/" + "/".join(names)),
    ),
    st.binary(max_size=40),
    max_size=30,
)


@settings(max_examples=60)
@given(_keys)
def test_any_keys_and_values_survive(
    tmp_path_factory: pytest.TempPathFactory, keys: dict[tuple[str, str], bytes]
) -> None:
    path = tmp_path_factory.mktemp("backup") / "backup"
    given_keys: Keys = {(Domain(domain), key): value for (domain, key), value in keys.items()}

    async def body(source: MetaStore, target: MetaStore) -> None:
        cluster = Cluster(source)
        await cluster.claim(domains=2)
        await put_all(source, given_keys)
        await cluster.save(path)
        await cluster.restore(path, target)
        assert without_what_changes(await all_keys(target)) == given_keys

    _with_two(body)


async def test_record_of_the_cluster_stays_the_same(tmp_path: Path) -> None:
    async with memory_store() as source, memory_store() as target:
        cluster = Cluster(source)
        identity = await cluster.claim()
        await cluster.save(tmp_path / "backup")
        await cluster.restore(tmp_path / "backup", target)
        record = msgspec.json.decode((await all_keys(target))[CLUSTER_DOMAIN, CLUSTER_KEY])
        assert record == {
            "format": 2,
            "cluster_id": identity.cluster_id,
            "domains": DOMAINS,
            "created_at_ms": identity.created_at_ms,
            "state": "formed",
            "generation": 1,
        }
