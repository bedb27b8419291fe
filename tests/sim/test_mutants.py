"""Detection of mutants by the simulations, which shows that their rules can be violated."""

from collections.abc import Callable, Collection, Iterable

import pytest

from dray.testing import group_sim
from dray.testing.sim import simulate
from dray.testing.sim.tables import simulate_tables
from tests.sim import group_mutants, mutants, table_mutants

_SEEDS_MAX = 1_000
_GROUP_SEEDS = (122, *range(150))
_TABLE_SEEDS_MAX = 100
"""Number of seeds tried with a mutant that its own seed no longer detects."""


@pytest.mark.slow
@pytest.mark.parametrize("mutate", mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_the_log_is_detected(mutate: mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    found = next(
        (verdict for verdict in map(simulate, range(_SEEDS_MAX)) if verdict.violations),
        None,
    )
    assert found is not None, f"no violation in {_SEEDS_MAX} seeds"
    assert any(line.startswith(mutants.MUTANTS[mutate]) for line in found.violations), found.violations


@pytest.mark.slow
@pytest.mark.parametrize("mutate", group_mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_groups_is_detected(mutate: group_mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    def violated(seed: int) -> set[str]:
        return {line.split(": ")[1] for line in group_sim.simulate(seed).violations}

    mutate(monkeypatch)
    _check_detected(violated, group_mutants.MUTANTS[mutate], _GROUP_SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("mutate", table_mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_tables_is_detected(mutate: table_mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    def violated(seed: int) -> set[str]:
        return {line.partition(":")[0] for line in simulate_tables(seed).violations}

    mutate(monkeypatch)
    mutant = table_mutants.MUTANTS[mutate]
    _check_detected(violated, mutant.rules, (mutant.seed, *range(_TABLE_SEEDS_MAX)))


def _check_detected(
    violated: Callable[[int], set[str]], rules: Iterable[str], seeds: Collection[int]
) -> None:
    expected = set(rules)
    assert any(violated(seed) & expected for seed in seeds), f"none of {rules} violated in {len(seeds)} seeds"
