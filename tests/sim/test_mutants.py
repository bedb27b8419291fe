"""The simulation finds what is broken on purpose: a rule that no seed can break would be no rule."""

import pytest

from dray.testing.sim import simulate
from tests.sim.mutants import MUTANTS, Mutate

_SEEDS_MAX = 1_000


@pytest.mark.slow
@pytest.mark.parametrize("mutate", MUTANTS, ids=lambda mutate: mutate.__name__)
def test_a_broken_rule_is_found(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    found = next(
        (verdict for verdict in map(simulate, range(_SEEDS_MAX)) if verdict.violations),
        None,
    )
    assert found is not None, f"no violation in {_SEEDS_MAX} seeds"
    assert any(line.startswith(MUTANTS[mutate]) for line in found.violations), found.violations
