"""The simulation of tables finds nothing wrong, repeats itself, and finds what is broken on purpose."""

import pytest

from dray.testing.sim.tables import Counts, simulate_tables
from tests.sim.table_mutants import MUTANTS, Mutate

_SEEDS = 20
_AT_ONCE = 10
_SEEDS_MAX = 100
"""As many are tried with a mutant whose own seed does not show it any more."""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, _SEEDS, _AT_ONCE))
def test_many_seeds_obey_the_rules(first: int) -> None:
    verdicts = [simulate_tables(seed) for seed in range(first, first + _AT_ONCE)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}
    counts = Counts()
    for verdict in verdicts:
        counts.add(verdict.counts)
    assert counts.swaps > 2 * _AT_ONCE
    assert counts.crashes > _AT_ONCE / 2
    assert counts.missing in ([], ["jobs_lost"], ["tables_dropped"], ["jobs_lost", "tables_dropped"])


def test_a_few_seeds_obey_the_rules() -> None:
    verdicts = [simulate_tables(seed) for seed in range(10_000, 10_003)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}


def test_one_seed_gives_one_history() -> None:
    once, again = simulate_tables(4), simulate_tables(4)
    assert once == again
    assert once.lines


@pytest.mark.slow
@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_broken_rule_is_found(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    mutant = MUTANTS[mutate]
    for seed in (mutant.seed, *range(_SEEDS_MAX)):
        found = {line.partition(":")[0] for line in simulate_tables(seed).violations}
        if found & set(mutant.rules):
            return
    pytest.fail(f"none of {mutant.rules} was broken in {_SEEDS_MAX} seeds")
