"""Mutants, each of which an attack finds: no check of `dray.sasl` can be removed unnoticed."""

import sys

import pytest
from joserfc.errors import JoseError

from dray.sasl import ExchangeMisused
from tests.sasl.attacks import catalog as real
from tests.sasl.mutants import EXCHANGE_MUTANTS
from tests.sasl.mutation import Mutant, mutated
from tests.sasl.token_mutants import TOKEN_MUTANTS

MUTANTS = (*EXCHANGE_MUTANTS, *TOKEN_MUTANTS)

pytestmark = pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_attack_finds_the_mutant(mutant: Mutant) -> None:
    with mutated(mutant) as attacks:
        assert _succeeds_or_crashes(attacks[mutant.attack])
    assert sys.modules["tests.sasl.attacks.catalog"] is real


def test_unchanged_copy_withstands_every_attack() -> None:
    unchanged = Mutant("nothing", "exchange", "class Refused(Exception):", "class Refused(Exception):", "")
    with mutated(unchanged) as attacks:
        assert attacks is not real.ATTACKS
        found = [name for name in attacks if name != "scram_random_proofs" and attacks[name]()]
    assert found == []


def test_every_attack_finds_a_mutant() -> None:
    unused = set(real.ATTACKS) - {mutant.attack for mutant in MUTANTS}
    assert unused == {"token_signed_with_another_key"}


def _succeeds_or_crashes(attack: object) -> bool:
    """An exception of the package is as bad: whatever a client sends, an exchange ends with an event."""
    assert callable(attack)
    try:
        return bool(attack())
    except (ArithmeticError, AttributeError, JoseError, KeyError, TypeError, ValueError, ExchangeMisused):
        return True
