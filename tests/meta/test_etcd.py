"""The contract of the etcd store, on one member and on three."""

from collections.abc import AsyncIterator, Iterator

import pytest

from dray.testing.contracts.meta import MetaContract
from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import QUICK_ELECTIONS, EtcdHarness

pytestmark = pytest.mark.real("etcd")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    with EtcdCluster(tmp_path_factory.mktemp("etcd"), size=3, options=QUICK_ELECTIONS) as cluster:
        yield cluster


class TestOneMember(MetaContract):
    @pytest.fixture
    async def harness(self, etcd: EtcdCluster) -> AsyncIterator[EtcdHarness]:
        harness = EtcdHarness(etcd.addresses)
        yield harness
        await harness.close()


@pytest.mark.slow
class TestThreeMembers(MetaContract):
    @pytest.fixture
    async def harness(self, cluster: EtcdCluster) -> AsyncIterator[EtcdHarness]:
        harness = EtcdHarness(cluster.addresses)
        yield harness
        await harness.close()
