"""Assertion rewriting for the contracts, and one etcd server for each test process."""

from collections.abc import Iterator

import pytest

from tests.meta.etcd_cluster import EtcdCluster
from tests.meta.etcd_harness import QUICK_ELECTIONS

pytest.register_assert_rewrite("dray.testing.contracts")


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdCluster]:
    """One member, shared by tests that use prefixes of their own."""
    with EtcdCluster(tmp_path_factory.mktemp("etcd"), options=QUICK_ELECTIONS) as cluster:
        yield cluster
