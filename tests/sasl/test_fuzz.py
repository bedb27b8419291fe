"""Short runs of the fuzzer, and evidence that it reaches and finds something."""

import importlib

import pytest

from tests.sasl.fuzz import KINDS, fuzz
from tests.sasl.mutants import EXCHANGE_MUTANTS
from tests.sasl.mutation import mutated
from tests.sasl.token_mutants import TOKEN_MUTANTS


def test_mutated_transcripts_authenticate_no_client() -> None:
    outcomes = fuzz(2000)
    assert outcomes.total() == 2000
    for kind in KINDS:
        assert outcomes[f"{kind.__name__}: Rejected"] > 100
    assert fuzz(200) == fuzz(200)


@pytest.mark.slow
def test_many_mutated_transcripts_authenticate_no_client() -> None:
    assert fuzz(30_000, seed=1).total() == 30_000


@pytest.mark.parametrize(
    "name",
    [
        "any password matches",
        "any proof matches",
        "the server has no nonce",
        "the length of the proof is not checked",
        "signatures are not verified",
        "tokens do not expire",
        "any audience",
        "the key id is ignored",
    ],
)
def test_fuzzer_finds_a_mutant(name: str) -> None:
    mutant = next(found for found in (*EXCHANGE_MUTANTS, *TOKEN_MUTANTS) if found.name == name)
    with mutated(mutant):
        fuzzer = importlib.import_module("tests.sasl.fuzz")
        with pytest.raises(fuzzer.FuzzFailure, match=r"--seed 0 --first \d+: \w+ (authenticated|raised)"):
            fuzzer.fuzz(20_000)
