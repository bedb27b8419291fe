"""Detection of mutants by the simulations, which shows that their rules can be violated."""

from collections.abc import Callable, Collection, Iterable

import pytest

from dray.testing import group_sim
from dray.testing.sim import simulate
from dray.testing.sim.tables import simulate_tables
from tests.sim import group_mutants, mutants, network_mutants, table_mutants

_SEEDS_MAX = 1_000
_GROUP_SEEDS = (122, *range(150))
_TABLE_SEEDS_MAX = 100
_NETWORK_SEEDS_MAX = 60
"""Number of seeds tried with a mutant that its own seed no longer detects."""


@pytest.mark.slow
@pytest.mark.parametrize("mutate", mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_the_log_is_detected(mutate: mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    found = next(
        (verdict for seed in range(_SEEDS_MAX) if (verdict := simulate(seed, networked=False)).violations),
        None,
    )
    assert found is not None, f"no violation in {_SEEDS_MAX} seeds"
    assert any(line.startswith(mutants.MUTANTS[mutate]) for line in found.violations), found.violations


@pytest.mark.slow
@pytest.mark.parametrize("mutate", group_mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_groups_is_detected(mutate: group_mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    def violated(seed: int) -> set[str]:
        return {line.split(": ")[1] for line in group_sim.simulate(seed, networked=False).violations}

    mutate(monkeypatch)
    _check_detected(violated, group_mutants.MUTANTS[mutate], _GROUP_SEEDS)


@pytest.mark.slow
@pytest.mark.parametrize("mutate", table_mutants.MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_tables_is_detected(mutate: table_mutants.Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    def violated(seed: int) -> set[str]:
        return {line.partition(":")[0] for line in simulate_tables(seed, networked=False).violations}

    mutate(monkeypatch)
    mutant = table_mutants.MUTANTS[mutate]
    _check_detected(violated, mutant.rules, (mutant.seed, *range(_TABLE_SEEDS_MAX)))


@pytest.mark.slow
@pytest.mark.parametrize("mutate", network_mutants.LOG_MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_the_log_is_detected_with_a_networked_store(
    mutate: network_mutants.Mutate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def violated(seed: int) -> set[str]:
        return {line.partition(":")[0] for line in simulate(seed, networked=True).violations}

    mutate(monkeypatch)
    mutant = network_mutants.LOG_MUTANTS[mutate]
    _check_detected(violated, mutant.rules, (mutant.seed, *range(_NETWORK_SEEDS_MAX)))


@pytest.mark.slow
@pytest.mark.parametrize("mutate", network_mutants.GROUP_MUTANTS, ids=lambda mutate: mutate.__name__)
def test_mutant_of_groups_is_detected_with_a_networked_store(
    mutate: network_mutants.Mutate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def violated(seed: int) -> set[str]:
        verdict = group_sim.simulate(seed, networked=True)
        return {line.split(": ")[1] for line in verdict.violations}

    mutate(monkeypatch)
    mutant = network_mutants.GROUP_MUTANTS[mutate]
    _check_detected(violated, mutant.rules, (mutant.seed, *range(_NETWORK_SEEDS_MAX)))


def _check_detected(
    violated: Callable[[int], set[str]], rules: Iterable[str], seeds: Collection[int]
) -> None:
    expected = set(rules)
    assert any(violated(seed) & expected for seed in seeds), f"none of {rules} violated in {len(seeds)} seeds"
