"""Readings of the benchmark: process figures, output of Kafka's tools, failed clients."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.beside_kafka import clients, processes
from benchmarks.beside_kafka.java_tools import fetched_per_second, produced_per_second
from benchmarks.beside_kafka.processes import cpu_seconds, file_system, rss_bytes

PRODUCED = """\
86775 records sent, 17355.0 records/sec (16.95 MB/sec), 1751.7 ms avg latency, 2020.0 ms max latency.
300000 records sent, 14728.9 records/sec (14.38 MB/sec), 1914.11 ms avg latency, 3153.00 ms max latency.
250000 steady state records sent, 14577.2 records/sec (14.24 MB/sec), 1848.44 ms avg latency.
"""
BEGAN_AND_ENDED = "2026-11-15 13:00:00:000, 2026-11-15 13:00:02:000"
FETCHED = f"{BEGAN_AND_ENDED}, 390.62, 195.3, 400000, 200000.0, 300, 1700, 229.7, 235294.1\n"
HOLDS_AND_WORKS = """
held = bytearray(64 << 20)
sum(range(5_000_000))
print("ready", flush=True)
input()
"""


def test_figures_are_parsed_from_the_tools_output() -> None:
    assert produced_per_second(PRODUCED) == 14577.2
    assert fetched_per_second(f"WARN, something\n{FETCHED}") == 235294.1


@pytest.mark.parametrize("read", [produced_per_second, fetched_per_second])
def test_tool_without_a_figure_has_failed(read: object) -> None:
    assert callable(read)
    with pytest.raises(clients.ClientFailed, match="out of memory"):
        read("out of memory\n")


def test_children_count_in_time_and_memory() -> None:
    before = cpu_seconds(os.getpid())
    alone = rss_bytes(os.getpid())
    command = [sys.executable, "-c", HOLDS_AND_WORKS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        assert cpu_seconds(child.pid) > 0
        assert rss_bytes(child.pid) > 64 << 20
        assert rss_bytes(os.getpid()) > alone + (32 << 20)
        child.communicate(b"\n")
    assert cpu_seconds(os.getpid()) > before
    assert (cpu_seconds(child.pid), rss_bytes(child.pid)) == (0, 0), "it may end during the reading"


@pytest.mark.parametrize(("own_seconds", "some"), [(3.0, True), (8.0, False)])
def test_background_load_excludes_this_process_tree(
    monkeypatch: pytest.MonkeyPatch, own_seconds: float, some: bool
) -> None:
    """The machine worked for 8 seconds, this process and its children for so many of them."""
    machine, own = iter([100.0, 108.0]), iter([20.0, 20.0 + own_seconds])
    monkeypatch.setattr(processes, "_machine_seconds", lambda: next(machine))
    monkeypatch.setattr(processes, "_own_seconds", lambda: next(own))
    assert (processes.BackgroundLoad().cores() > 0) is some


def test_machine_cpu_time_covers_ours() -> None:
    machine, own = processes._machine_seconds(), processes._own_seconds()
    sum(range(10_000_000))
    used = processes._own_seconds() - own
    assert used > 0
    assert processes._machine_seconds() - machine >= used - 0.05


def test_file_system_is_known_by_its_type() -> None:
    assert file_system(Path("/proc/self")) == "proc"


def test_failed_client_is_reported_with_its_last_output() -> None:
    with pytest.raises(clients.ClientFailed, match="the last output"):
        clients.run([sys.executable, "-c", "import sys; sys.exit('the last output')"])


def test_client_that_is_not_ready_is_not_waited_for() -> None:
    command = [sys.executable, "-c", "print('no')"]
    with clients.running(command) as client, pytest.raises(clients.ClientFailed, match="no"):
        client.wait_ready()


def test_time_and_cost_of_a_client() -> None:
    ran = clients.run([sys.executable, "-c", "sum(range(3_000_000)); print('done')"])
    assert ran.stdout == "done\n"
    assert ran.cpu_seconds > 0
    assert ran.seconds > 0
