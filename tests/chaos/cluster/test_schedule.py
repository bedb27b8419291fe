"""Schedules of faults: one seed stands for one schedule."""

import subprocess
import sys
from itertools import combinations, pairwise

import pytest

from tests.chaos.cluster.schedule import COMPACTOR_NAMES, KINDS, NAMES, schedule
from tests.oracle.environment import ROOT


@pytest.mark.parametrize("seed", range(20))
def test_seed_repeats_itself(seed: int) -> None:
    assert schedule(seed, 300) == schedule(seed, 300)
    assert schedule(seed, 300) != schedule(seed + 1, 300)


def test_seed_repeats_itself_in_another_process() -> None:
    """Nothing in it depends on the hashes of strings, which differ between processes."""
    command = [sys.executable, "-m", "tests.chaos.cluster", "--schedule", "--seed", "7", "--minutes", "5"]
    printed = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout
        for _ in range(2)
    ]
    assert printed[0] == printed[1]
    assert printed[0].splitlines() == [
        f"{fault.at_s:7.1f} s  {fault}" for fault in schedule(7, 300, NAMES + COMPACTOR_NAMES)
    ]


@pytest.mark.parametrize("seed", range(20))
def test_faults_end_in_time_and_at_most_two_overlap(seed: int) -> None:
    faults = schedule(seed, 600)
    assert faults == sorted(faults)
    assert all(fault.lasts_s > 0 and fault.until_s <= 600 for fault in faults)
    for group in combinations(faults, 3):
        assert max(fault.at_s for fault in group) >= min(fault.until_s for fault in group)


def test_long_schedule_has_faults_of_all_kinds_and_some_overlap() -> None:
    faults = schedule(1, 600)
    assert {fault.kind for fault in faults} == {kind.name for kind in KINDS}
    assert any(after.at_s < before.until_s for before, after in pairwise(faults))


def test_outages_of_a_long_schedule_last_up_to_half_a_minute() -> None:
    longest = max(
        fault.lasts_s for seed in range(20) for fault in schedule(seed, 1800) if fault.kind == "etcd down"
    )
    assert 25 < longest <= 30
