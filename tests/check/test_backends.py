"""Checks and repairs on etcd and Oxia: the keys of a cluster on SQLite, copied there."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from dray.ids import MetaDomain
from dray.keyspace import CLUSTER_DOMAIN, log_domain
from dray.meta.port import MetaStore, Put
from tests.check import damages
from tests.check.damages import DAMAGES, Damage
from tests.check.stores import Stores, kinds
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import QUICK_ELECTIONS
from tests.meta.etcd_harness import opened as opened_etcd
from tests.meta.oxia_harness import served

SOME = (
    damages.entry_lost,
    damages.head_behind,
    damages.head_lost,
    damages.time_wrong,
    damages.record_replaced_by_marker,
    damages.file_record_lost,
    damages.too_few_references,
    damages.record_without_entry,
    damages.deletion_overdue,
    damages.topic_lost,
    damages.offsets_of_no_topic,
)


@pytest.fixture(scope="module")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with EtcdCluster(tmp_path_factory.mktemp("etcd"), options=QUICK_ELECTIONS) as cluster:
        yield cluster


@asynccontextmanager
async def _on(stores: Stores, meta: MetaStore) -> AsyncIterator[Stores]:
    """Copy the keys to another store, and use that one."""
    for domain in (CLUSTER_DOMAIN, *(log_domain(MetaDomain(each)) for each in range(stores.cluster.domains))):
        for key, value in await stores.keys_of(domain):
            await meta.commit(domain, [], [Put(key, value)])
    yield replace(stores, cluster=replace(stores.cluster, meta=meta))


async def _find_and_repair(stores: Stores, damage: Damage) -> None:
    assert await stores.check(deep=True) == []
    await damage(stores)
    expected = DAMAGES[damage]
    assert kinds(await stores.check()) == expected.found
    await stores.repair()
    assert kinds(await stores.check()) == expected.left


@pytest.mark.parametrize("damage", SOME, ids=lambda damage: damage.__name__)
async def test_damage_on_oxia_is_found_and_repaired(stores: Stores, damage: Damage) -> None:
    async with served() as harness, _on(stores, await harness.open()) as copy:
        await _find_and_repair(copy, damage)


@pytest.mark.real("etcd")
@pytest.mark.parametrize("damage", SOME, ids=lambda damage: damage.__name__)
async def test_damage_on_etcd_is_found_and_repaired(
    etcd: EtcdCluster, stores: Stores, damage: Damage
) -> None:
    async with opened_etcd(etcd.addresses) as meta, _on(stores, meta) as copy:
        await _find_and_repair(copy, damage)
