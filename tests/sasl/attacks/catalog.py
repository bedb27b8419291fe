"""All attacks, by name; importing their modules registers them. Each returns whether it succeeded; none may.

`test_attacks` runs them. `test_mutants` removes one check after another from `dray.sasl` and expects that an
attack succeeds: each check is needed, and each would be missed.
"""

from collections.abc import Callable, Mapping
from typing import Final

from tests.sasl.attacks import attacker, enumeration, guesses, tokens, violations

MODULES: Final = (enumeration, guesses, tokens, violations)
ATTACKS: Final[Mapping[str, Callable[[], bool]]] = attacker.ATTACKS
