"""Tiny run of the comparison with Kafka: every load completes and has figures; speed is not checked."""

from pathlib import Path

import pytest

from benchmarks.beside_kafka import Outcome, Scale, loads, starting
from benchmarks.beside_kafka.benchmark import Run, choose
from benchmarks.beside_kafka.java_tools import serves_groups
from benchmarks.beside_kafka.loads import GROUP_LOADS, JAVA_LOADS, LARGE, LOADS, Client, Load
from benchmarks.beside_kafka.rounds import DiskTooSmall
from benchmarks.beside_kafka.servers import DRAY, KAFKA, Server
from tests.oracle.kafka import Kafka

TINY = Scale(
    rounds=1,
    warm_ups=0,
    large_records=2_000,
    small_records=5_000,
    rate=200,
    paced_seconds=0.5,
    settle_s=0.0,
)
BY_TOOL_OF_TOOLS = Load(fetches=True, client=Client.JAVA, writer=Client.JAVA, size=LARGE)
LATENCIES = ["produced to acknowledged, p50", "produced to consumed, p99"]
OTHERS = ["first acknowledged record", "idle, after", "after a round of loads"]


def _cells(outcome: Outcome, name: str) -> list[str]:
    """The lines of the tables that begin with a name."""
    return [line for line in outcome.lines if line.startswith(name)]


@pytest.mark.slow
def test_dray_is_measured_without_kafka(tmp_path: Path) -> None:
    outcome = Run(TINY, tmp_path, [DRAY], progress=lambda _: None).outcome()
    for load in LOADS:
        per_byte, per_record, cpu, cores = _cells(outcome, load.name)
        assert "MB/s" in per_byte
        assert "msg/s" in per_record
        assert "s/GB" in cpu
        assert cores.endswith("-") or "limit" in cores
    for name in (*LATENCIES, *OTHERS):
        assert any(name in line for line in outcome.lines)
    assert any(line.startswith("left out: Kafka and its tools") for line in outcome.lines)
    assert any("at least 1x: not measured" in line for line in outcome.lines)
    assert "beside-kafka-throughput.svg" in outcome.plots
    assert "beside-kafka-ratios.svg" not in outcome.plots


@pytest.mark.real("java")
def test_kafkas_own_tools_are_measured(apache_kafka: Kafka) -> None:
    server = Server(KAFKA, apache_kafka.bootstrap, apache_kafka.pid)
    assert serves_groups(server)
    written = loads.run(JAVA_LOADS[0], server, "tiny", TINY)
    read = loads.run(BY_TOOL_OF_TOOLS, server, "tiny", TINY)
    for rate in (written, read):
        assert rate.records_per_s > 0
        assert rate.client_cores > 0
    units = [measure.unit for measure, _ in loads.measures(JAVA_LOADS[0], written, TINY)]
    assert units == ["MB/s", "msg/s", "s/GB", "cores", "cores"]


@pytest.mark.real("java")
def test_kafka_is_started_as_its_script_starts_it(tmp_path: Path) -> None:
    (_, seconds), (_, megabytes) = starting.run(KAFKA, tmp_path / "kafka", TINY)
    assert seconds > 0.1, "no JVM is that quick"
    assert megabytes > 100


def test_group_loads_are_for_servers_that_all_have_groups() -> None:
    everything, nothing = choose([DRAY, KAFKA], groupless=[])
    assert everything == [*LOADS, *JAVA_LOADS, *GROUP_LOADS]
    assert nothing == []
    fewer, left_out = choose([DRAY, KAFKA], groupless=[DRAY])
    assert fewer == [*LOADS, *JAVA_LOADS]
    assert len(left_out) == len(GROUP_LOADS)
    assert all("Dray does not serve groups" in line for line in left_out)


def test_too_small_disk_is_reported_before_anything_starts(tmp_path: Path) -> None:
    endless = Scale(1, 0, 10**15, 0, 1, 1.0, 0.0)
    output: list[str] = []
    with pytest.raises(DiskTooSmall, match="TMPDIR"):
        Run(endless, tmp_path, [DRAY], output.append).outcome()
    assert output == []
