"""The simulation finds nothing wrong, and repeats itself."""

import pytest

from dray.testing.sim import simulate

_SEEDS = 500
_AT_ONCE = 50


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, _SEEDS, _AT_ONCE))
def test_many_seeds_obey_the_rules(first: int) -> None:
    verdicts = [simulate(seed) for seed in range(first, first + _AT_ONCE)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}
    assert sum(verdict.acknowledged for verdict in verdicts) > 20 * _AT_ONCE
    assert sum(verdict.crashes for verdict in verdicts) > _AT_ONCE / 2


def test_a_few_seeds_obey_the_rules() -> None:
    verdicts = [simulate(seed) for seed in range(10_000, 10_020)]
    assert {verdict.seed: verdict.violations for verdict in verdicts if verdict.violations} == {}


@pytest.mark.parametrize("seed", [3, 51, 77])
def test_one_seed_gives_one_history(seed: int) -> None:
    once, again = simulate(seed), simulate(seed)
    assert once == again
    assert once.lines


def test_other_seeds_give_other_histories() -> None:
    assert simulate(1).lines != simulate(2).lines
