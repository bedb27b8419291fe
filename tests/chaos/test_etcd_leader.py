"""Time without acknowledgements after etcd has lost its leader: a killed one, and one that is paused.

etcd needs one to two seconds for the election (its default timeout is 1 s). What comes on top is ours.
"""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

import pytest

from tests.brokers import running_brokers
from tests.chaos.histories import ProducerHistory
from tests.chaos.producers import PARTITIONS, SteadyProducer, make_topic
from tests.meta.etcd_cluster import EtcdCluster, Member
from tests.spark.processes import becomes_true

pytestmark = [pytest.mark.slow, pytest.mark.real("etcd"), pytest.mark.timeout(300)]

_TIMES: Final = 5
_MEDIAN_MAX_S: Final = 5.0
_ELECTION_S_MIN: Final = 0.5
_PATIENCE_S: Final = 30.0
_STEADY_ACKS: Final = 50


@contextmanager
def killed(etcd: EtcdCluster, leader: Member) -> Iterator[None]:
    leader.kill()
    try:
        yield
    finally:
        etcd.start()


@contextmanager
def paused(_: EtcdCluster, leader: Member) -> Iterator[None]:
    leader.pause()
    try:
        yield
    finally:
        leader.resume()


Outage = Callable[[EtcdCluster, Member], AbstractContextManager[None]]


class Recovery(NamedTuple):
    """Seconds since an outage began."""

    elected_s: float
    """When another member had become the leader."""
    acknowledged_s: float
    """When every partition had acknowledged a record that was sent since then."""


@pytest.mark.parametrize("outage", [killed, paused])
def test_records_are_acknowledged_soon_after_etcd_lost_its_leader(outage: Outage, tmp_path: Path) -> None:
    with EtcdCluster(tmp_path / "etcd", size=3) as etcd:
        metadata = f"etcd://{','.join(etcd.addresses)}/dray"
        options = ("--metadata", metadata, "--set", "metadata.session_ttl_ms=3000")
        with running_brokers(2, tmp_path / "brokers", options) as brokers:
            make_topic(brokers[0].address)
            producer = SteadyProducer("p", ",".join(broker.address for broker in brokers), zone="a")
            producer.start()
            found = [_recovery(producer, etcd, outage) for _ in range(_TIMES)]
            producer.stopping.set()
            assert producer.finish().errors == []
    report = ", ".join(f"{one.acknowledged_s:.2f} s (elected after {one.elected_s:.2f} s)" for one in found)
    sys.stdout.write(f"leader {outage.__name__}, acknowledgements resumed after: {report}\n")  # shown by -rP
    assert min(one.acknowledged_s for one in found) > _ELECTION_S_MIN, f"not always the leader: {report}"
    assert median(one.acknowledged_s for one in found) <= _MEDIAN_MAX_S, report


def _recovery(producer: SteadyProducer, etcd: EtcdCluster, outage: Outage) -> Recovery:
    history = producer.history
    enough = len(history.acknowledged) + _STEADY_ACKS
    assert becomes_true(lambda: len(history.acknowledged) > enough, _PATIENCE_S)
    leader = etcd.leader()  # one that was paused has learned by now that it is none any more
    since = time.monotonic()
    with outage(etcd, leader):
        etcd.leader(besides=leader)
        elected = time.monotonic()
        assert becomes_true(lambda: len(_first_acks(history, since)) == PARTITIONS, _PATIENCE_S)
    return Recovery(elected - since, max(_first_acks(history, since).values()) - since)


def _first_acks(history: ProducerHistory, since: float) -> dict[int, float]:
    """Return by partition when the first record was acknowledged that was sent since then."""
    first: dict[int, float] = {}
    for name, ack in history.acknowledged.copy().items():  # which a thread adds to
        if history.sent[name] > since:
            first.setdefault(ack.partition, ack.at)
    return first
