"""The simulation of groups finds nothing wrong, repeats itself, and finds what is broken on purpose."""

import pytest

from dray.testing.group_sim import simulate
from tests.sim.group_mutants import MUTANTS, Mutate

_SEEDS = (122, *range(150))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 20, 10))
def test_many_seeds_obey_the_rules(first: int) -> None:
    verdicts = [simulate(seed) for seed in range(first, first + 10)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}
    assert sum(verdict.commits for verdict in verdicts) > 1_000
    assert sum(verdict.crashes for verdict in verdicts) > 10


def test_a_few_seeds_obey_the_rules() -> None:
    verdicts = [simulate(seed) for seed in range(10_000, 10_003)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}


def test_one_seed_gives_one_history() -> None:
    once, again = simulate(4), simulate(4)
    assert once == again
    assert once.lines


@pytest.mark.slow
@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_broken_rule_is_found(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    rules = MUTANTS[mutate]
    for seed in _SEEDS:
        found = [line.split(": ")[1] for line in simulate(seed).violations]
        if set(found) & set(rules):
            return
    pytest.fail(f"none of {rules} broken in {len(_SEEDS)} seeds")
