"""Brokers on a real etcd of three members: brokers are killed, then etcd's leader."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from tests.chaos import faults
from tests.chaos.experiment import Figures, Plan, run
from tests.chaos.faults import Outage
from tests.chaos.victims import Victim
from tests.meta.etcd_cluster import EtcdCluster

pytestmark = [pytest.mark.slow, pytest.mark.real("etcd"), pytest.mark.timeout(600)]

_TIMES = 4
_ACKNOWLEDGED_MIN = 200


class KilledLeader:
    """A fault: etcd's leader is killed, and restarted when the others have long elected another one."""

    def __init__(self, cluster: EtcdCluster) -> None:
        self._cluster = cluster

    def __call__(self, victims: Sequence[Victim], random: Random) -> Outage:
        leader = self._cluster.leader()
        leader.kill()
        since = time.monotonic()
        time.sleep(random.uniform(4, 8))
        until = time.monotonic()
        self._cluster.start()
        time.sleep(2)
        return Outage("etcd leader killed", since, until)


@contextmanager
def members(home: Path) -> Iterator[tuple[EtcdCluster, list[str]]]:
    with EtcdCluster(home / "etcd", size=3) as cluster:
        yield cluster, ["--metadata", f"etcd://{','.join(cluster.addresses)}/dray/chaos"]


def survived(plan: Plan, home: Path) -> Figures:
    """Inject faults and check that exactly the acknowledged records are stored, once and in order."""
    figures = run(plan, home / "data", lambda _: None)
    assert figures.violations == ()
    assert figures.faults.total() == _TIMES
    assert figures.acknowledged > _ACKNOWLEDGED_MIN
    assert figures.consumed > 0
    return figures


def test_second_broker_keeps_serving_while_the_first_is_killed(tmp_path: Path) -> None:
    with members(tmp_path) as (_, options):
        figures = survived(Plan(faults.kill, _TIMES, 2, options), tmp_path)
        assert figures.during_outages > 0, "the other broker keeps serving"


def test_brokers_keep_serving_while_the_leader_of_etcd_is_dead(tmp_path: Path) -> None:
    with members(tmp_path) as (cluster, options):
        figures = survived(Plan(KilledLeader(cluster), _TIMES, 2, options), tmp_path)
        assert figures.during_outages > 0, "the brokers keep serving"
