"""Schedules of faults: one seed stands for one schedule."""

import subprocess
import sys
from itertools import combinations, pairwise

import pytest

from tests.chaos.cluster.schedule import ALL_NAMES, COMPACTOR_KINDS, KINDS, kinds_with, schedule
from tests.oracle.environment import ROOT


@pytest.mark.parametrize("seed", range(20))
def test_seed_repeats_itself(seed: int) -> None:
    assert schedule(seed, 300) == schedule(seed, 300)
    assert schedule(seed, 300) != schedule(seed + 1, 300)


def test_seed_repeats_itself_in_another_process() -> None:
    """Nothing in it depends on the hashes of strings, which differ between processes."""
    program = "from tests.chaos.cluster.schedule import schedule; print(schedule(7, 300))"
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == f"{schedule(7, 300)}\n"


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


def test_kinds_with_etcd_are_those_of_every_schedule_so_far() -> None:
    assert kinds_with("etcd", compacting=False) == [kind.name for kind in KINDS]
    assert kinds_with("etcd", compacting=True) == [kind.name for kind in (*KINDS, *COMPACTOR_KINDS)]


@pytest.mark.parametrize("metadata", ["oxia", "sqlite"])
def test_other_metadata_has_no_faults_of_etcd(metadata: str) -> None:
    kinds = set(kinds_with(metadata, compacting=True))
    assert not [name for name in kinds if "etcd" in name]
    assert {name for name in ALL_NAMES if "oxia" in name} <= kinds or metadata == "sqlite"
    assert {"kill broker", "cut zones", "store down", "kill compactor"} <= kinds
    assert "slow disk" not in kinds, "only members of etcd have disks of their own"
