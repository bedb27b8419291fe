"""Rolling restart and rolling upgrade of three brokers under load: clients notice nothing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.brokers import BrokerProcess, running_brokers
from tests.meta.etcd_cluster import EtcdCluster
from tests.rolling.builds import revision_before, unpack
from tests.rolling.clients import Result, RunningClients

pytestmark = pytest.mark.slow

BROKERS = 3
ACKNOWLEDGED_MIN = 1_000
PAUSE_MAX_S = 10.0
"""Much less than a rebalance after a lost session takes, on a machine that is busy."""


def bootstrap(brokers: Sequence[BrokerProcess]) -> str:
    return ",".join(broker.address for broker in brokers)


def judge(result: Result) -> None:
    assert result.errors == []
    assert result.acknowledged > ACKNOWLEDGED_MIN
    assert result.longest_pause_s < PAUSE_MAX_S


def restart(broker: BrokerProcess, tree: Path | None = None) -> None:
    broker.stop()
    broker.tree = tree
    broker.start()


@pytest.mark.real("etcd")
def test_clients_do_not_notice_a_rolling_restart(tmp_path: Path) -> None:
    """Also where only the leader serves, so that clients have to follow it there and back."""
    with EtcdCluster(tmp_path / "etcd") as etcd:
        options = ["--metadata", f"etcd://{','.join(etcd.addresses)}/dray"]
        options += ["--set", "routing.enforce_owner=true"]
        with (
            running_brokers(BROKERS, tmp_path / "data", options) as brokers,
            RunningClients.on(bootstrap(brokers)) as clients,
        ):
            for broker in brokers:
                restart(broker)
            result = clients.finish()
    judge(result)


def test_clients_do_not_notice_a_rolling_upgrade_from_the_build_before(tmp_path: Path) -> None:
    """Brokers of both builds serve the same cluster, and one of them goes back to the build before."""
    before = unpack(revision_before(), tmp_path)
    with (
        running_brokers(BROKERS, tmp_path / "data", tree=before) as brokers,
        RunningClients.on(bootstrap(brokers)) as clients,
    ):
        restart(brokers[0])
        restart(brokers[1])
        restart(brokers[0], before)
        restart(brokers[2])
        result = clients.finish()
    judge(result)
