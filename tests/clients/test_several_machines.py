"""The matrix against a cluster as it runs on several machines: three brokers on etcd and S3.

The rules are those of `test_matrix` and `test_groups`. What differs is below the protocol: commits of several
brokers in one etcd, objects in a bucket, and partitions and groups whose leaders and coordinators are spread.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.brokers import BrokerProcess, running_brokers
from tests.chaos.stores import real_s3
from tests.clients.commits import positions
from tests.clients.conftest import GROUPS, Programs
from tests.clients.groups import PARTITIONS, Feed, consumer_group
from tests.clients.protocol import GroupProtocol
from tests.clients.registry import Client
from tests.clients.rules import again, left_out, moved_back
from tests.clients.target import EXTERNAL
from tests.clients.test_groups import every_protocol, starting
from tests.clients.test_matrix import (
    test_produces_with_idempotence_on_and_off,
    test_reads_back_what_it_wrote,
    test_starts_at_a_time,
    test_starts_at_the_end,
)
from tests.meta.etcd_cluster import EtcdCluster

__all__ = [
    "test_produces_with_idempotence_on_and_off",
    "test_reads_back_what_it_wrote",
    "test_starts_at_a_time",
    "test_starts_at_the_end",
]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real("etcd", "seaweedfs"),
    pytest.mark.skipif(bool(EXTERNAL), reason="these tests configure brokers of their own"),
]

BROKERS = 3


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sequence[BrokerProcess]]:
    home = tmp_path_factory.mktemp("machines")
    with EtcdCluster(home / "etcd", size=3) as etcd, real_s3(home) as s3:
        options = ("--metadata", f"etcd://{','.join(etcd.addresses)}/dray", *s3, *GROUPS)
        with running_brokers(BROKERS, home / "brokers", options) as running:
            yield running


@pytest.fixture(scope="module")
def bootstrap(brokers: Sequence[BrokerProcess]) -> str:
    """One address; Metadata has the others."""
    return brokers[0].address


@pytest.fixture(scope="module")
def programs(bootstrap: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    running = Programs(bootstrap, tmp_path_factory.mktemp("clients-of-machines"))
    yield running
    running.close()


@pytest.fixture
def feed(programs: Programs, topic: str) -> Feed:
    programs["librdkafka"].create_topic(topic, PARTITIONS)
    return Feed(topic, programs["librdkafka"])


@every_protocol
def test_group_hands_partitions_over(
    client: Client, protocol: GroupProtocol, bootstrap: str, feed: Feed, tmp_path: Path
) -> None:
    """Two members share the partitions, then one has all of them; every record is processed once."""
    with consumer_group(feed, starting(client, bootstrap, tmp_path), protocol) as group:
        feed.grow(20)
        stays, leaves = group.join("stays"), group.join("leaves")
        group.settle(stays, leaves)
        leaves.leave()
        group.settle(stays)
        stays.leave()
    assert left_out(group.journal.entries, feed.log) == []
    assert again(group.journal.entries) == []
    assert moved_back(group.journal.entries) == []
    assert positions(bootstrap, group.name) == feed.ends
