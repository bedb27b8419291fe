"""Simulation of the log, of groups and of tables by seed: no violations, and reproducible histories."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from dray.testing.group_sim import simulate as simulate_groups
from dray.testing.sim import Verdict, simulate
from dray.testing.sim.tables import Counts, TableVerdict, simulate_tables

Simulate = Callable[[int], Verdict]
"""Returns the `Verdict` of a seed."""
log_networked = partial(simulate, networked=True)
groups_networked = partial(simulate_groups, networked=True)
tables_networked = partial(simulate_tables, networked=True)


def _violations(verdicts: list[Any]) -> dict[int, tuple[str, ...]]:
    return {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations}


def _log_was_busy(verdicts: list[Verdict]) -> None:
    assert sum(verdict.acknowledged for verdict in verdicts) > 20 * len(verdicts)
    assert sum(verdict.crashes for verdict in verdicts) > len(verdicts) / 2


def _groups_were_busy(verdicts: list[Verdict]) -> None:
    assert sum(verdict.acknowledged for verdict in verdicts) > 100 * len(verdicts)
    assert sum(verdict.crashes for verdict in verdicts) > len(verdicts)


def _tables_were_busy(verdicts: list[TableVerdict]) -> None:
    counts = Counts()
    for verdict in verdicts:
        counts.add(verdict.counts)
    assert counts.swaps > 2 * len(verdicts)
    assert counts.crashes > len(verdicts) / 2
    assert counts.missing in ([], ["jobs_lost"], ["tables_dropped"], ["jobs_lost", "tables_dropped"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("simulated", "were_busy", "seeds"),
    [
        *[
            pytest.param(simulate, _log_was_busy, range(first, first + 50), id=f"log-{first}")
            for first in range(0, 500, 50)
        ],
        *[
            pytest.param(simulate_groups, _groups_were_busy, range(first, first + 10), id=f"groups-{first}")
            for first in range(0, 20, 10)
        ],
        *[
            pytest.param(simulate_tables, _tables_were_busy, range(first, first + 10), id=f"tables-{first}")
            for first in range(0, 20, 10)
        ],
        pytest.param(groups_networked, _groups_were_busy, range(1_000, 1_020), id="groups-networked"),
        pytest.param(tables_networked, _tables_were_busy, range(1_000, 1_015), id="tables-networked"),
    ],
)
def test_many_seeds_have_no_violations(
    simulated: Simulate, were_busy: Callable[[list[Any]], None], seeds: range
) -> None:
    verdicts = [simulated(seed) for seed in seeds]
    assert _violations(verdicts) == {}
    were_busy(verdicts)


@pytest.mark.parametrize(
    ("simulated", "seeds"),
    [
        pytest.param(simulate, 20, id="log"),
        pytest.param(simulate_groups, 3, id="groups"),
        pytest.param(simulate_tables, 3, id="tables"),
        pytest.param(log_networked, 6, id="log-networked"),
        pytest.param(groups_networked, 2, id="groups-networked"),
        pytest.param(tables_networked, 1, id="tables-networked"),
    ],
)
def test_few_seeds_have_no_violations(simulated: Simulate, seeds: int) -> None:
    assert _violations([simulated(seed) for seed in range(10_000, 10_000 + seeds)]) == {}


@pytest.mark.parametrize(
    ("simulated", "seed"),
    [
        *[pytest.param(simulate, seed, id=f"log-{seed}") for seed in (3, 51, 77)],
        pytest.param(simulate_groups, 4, id="groups-4"),
        pytest.param(simulate_tables, 4, id="tables-4"),
        pytest.param(log_networked, 7, id="log-networked-7"),
        pytest.param(groups_networked, 7, id="groups-networked-7"),
        pytest.param(tables_networked, 7, id="tables-networked-7"),
    ],
)
def test_same_seed_gives_the_same_history(simulated: Simulate, seed: int) -> None:
    once, again = simulated(seed), simulated(seed)
    assert once == again
    assert once.lines


@pytest.mark.parametrize(
    "simulated", [simulate, simulate_groups, simulate_tables], ids=["log", "groups", "tables"]
)
def test_different_seeds_give_different_histories(simulated: Simulate) -> None:
    assert simulated(1).lines != simulated(2).lines


@pytest.mark.slow
def test_every_fault_of_the_network_happens() -> None:
    lines = [line for seed in range(1_000, 1_010) for line in log_networked(seed).lines]
    for fault in ("(requests)", "(responses)", "(both)", "delay changes", "has no leader"):
        assert any(fault in line for line in lines), fault
