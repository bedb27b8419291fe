"""Attacks, none of which succeeds, and the checks that the attacks themselves need."""

import pytest

from dray.sasl import Accepted
from dray.sasl.tokens import validate
from tests.sasl.attacks.attacker import plain, scram
from tests.sasl.attacks.catalog import ATTACKS
from tests.sasl.attacks.tokens import token
from tests.sasl.clients import bearer_message
from tests.sasl.hosts import Host
from tests.sasl.signing import NOW_MS, RULES, signed, signing_keys


@pytest.mark.parametrize("name", ATTACKS)
def test_attack_is_refused(name: str) -> None:
    assert ATTACKS[name]() is False


def test_attacks_know_how_to_authenticate_honestly() -> None:
    assert plain("mallory", "hunter2")
    assert scram()
    assert token()
    honest = Host(validate=lambda text: validate(text, NOW_MS, signing_keys(), RULES))
    assert isinstance(honest.play("OAUTHBEARER", bearer_message(signed()))[-1], Accepted)
