"""The capacity model: formulas by hand, the simulation by its invariants, and a tiny run of the report."""

from random import Random

import pytest

from benchmarks.capacity import Scale, costs, run
from benchmarks.capacity.costs import Rates, Workload
from benchmarks.capacity.prices import DRAY_PROCESSOR, EXPRESS, METADATA, MIB, STANDARD, Latency
from benchmarks.capacity.simulation import Setup, Simulated, simulate
from dray.log import LogSettings

WORK = Workload(bytes_per_s=100e6, partitions=1_000, batch_bytes=100_000, fan_out=2, retention_days=1)
SMALL = Setup(bytes_per_s=5e6, streams=50, batch_bytes=64 * 1024, bucket=STANDARD, domains=2)


def test_cores_are_the_sum_of_bytes_and_batches() -> None:
    used = costs.cores(WORK, DRAY_PROCESSOR)
    assert used == pytest.approx(0.1 * 1.8 + 1_000 * 90e-6 + 2 * 0.1 * 0.85)
    assert costs.brokers(WORK) == 1
    assert costs.brokers(Workload(1e9, 1_000, batch_bytes=100_000)) == 9


def test_costs_of_kafka_are_traffic_between_zones_disks_and_cores() -> None:
    found = costs.kafka(WORK)
    gb = 100e6 * 730 * 3600 / 1e9
    assert found.requests == 0
    assert found.transfer == pytest.approx(gb * (2 / 3 + 2) * 0.02)
    assert found.storage == pytest.approx(3 * 8_640 / 0.75 * 0.08)
    assert found.total == pytest.approx(found.transfer + found.storage + found.processors)


def test_costs_of_dray_are_requests_storage_and_cores() -> None:
    found = costs.dray(WORK, STANDARD, Rates(puts=100, commits=100, chunks=1_000))
    seconds = 730 * 3600
    parquet_puts = 100e6 * seconds / 128e6
    requests = (100 * seconds + parquet_puts) * 0.005 / 1000 + 1_000 * seconds * 0.0004 / 1000
    assert found.requests == pytest.approx(requests)
    assert found.storage == pytest.approx(8_640 * 0.023)
    assert found.transfer == pytest.approx(1_000 * seconds * 400 / 1e9 * 2 * 0.02)


def test_sampled_latency_has_the_quantiles_it_is_named_by() -> None:
    chance = Random(1)
    taken = sorted(Latency(0.1, 0.4, bytes_per_s=1e6).sample(chance, 1_000) for _ in range(20_000))
    assert taken[10_000] == pytest.approx(0.1 + 0.001, rel=0.03)
    assert taken[19_800] == pytest.approx(0.4 + 0.001, rel=0.1)


def test_equal_seeds_give_equal_simulations() -> None:
    assert simulate(SMALL, seconds=1, seed=3) == simulate(SMALL, seconds=1, seed=3)
    assert simulate(SMALL, seconds=1, seed=3) != simulate(SMALL, seconds=1, seed=4)


def test_simulated_broker_stores_its_load_and_waits_for_put_and_commit() -> None:
    found = simulate(SMALL, seconds=5)
    assert found.put_bytes == pytest.approx(5e6, rel=0.2)
    assert found.chunks >= found.puts >= found.commits > 0
    assert found.quantile(0.5) > STANDARD.put.p50_s + METADATA.p50_s
    assert _fast().quantile(0.99) < found.quantile(0.5)


def _fast() -> Simulated:
    return simulate(Setup(5e6, 50, 64 * 1024, EXPRESS, domains=2), seconds=5)


def test_longer_linger_makes_fewer_and_larger_objects() -> None:
    patient = Setup(5e6, 50, 64 * 1024, STANDARD, domains=2, settings=LogSettings(linger_ms=500))
    assert simulate(patient, seconds=5).puts < 0.7 * simulate(SMALL, seconds=5).puts


def test_tiny_run_reports_every_load_and_setting() -> None:
    work = Workload(1e6, 20, batch_bytes=MIB // 16)
    outcome = run(Scale([work], work, seconds=1.0), progress=lambda _: None)
    text = "\n".join(outcome.lines)
    for part in ("1 MB/s, 20 partitions", "S3 Express One Zone", "Kafka, 3 replicas", "linger 500 ms"):
        assert part in text
    assert set(outcome.plots) == {"capacity-cost.svg", "capacity-latency.svg", "capacity-settings.svg"}
