"""Mutants of the checks, each of which the recorded matrix finds: no check can change unnoticed."""

from types import ModuleType
from typing import Final

import pytest

from dray.api.dispatch import MODULES
from tests.api.authorization.comparing import first_contradiction
from tests.api.authorization.mutation import Kind, Mutant, active, mutants

_BY_NAME: Final = {module.__name__.rpartition(".")[2]: module for module in MODULES}
_COMMON: Final = (
    "OffsetCommit",
    "DescribeGroups",
    "CreatePartitions",
    "DescribeCluster",
    "InitProducerId",
    "AlterClientQuotas",
    "ConsumerGroupHeartbeat",
)
"""APIs that together use all of `authorization`."""


UNNOTICEABLE: Final = {
    # Transactions are not served: InitProducerId refuses those who may write with the same code.
    "init_producer_id._refusal:0:allows:exchanged",
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_matrix_finds_the_mutant(mutant: Mutant) -> None:
    with active(mutant):
        assert _is_found(mutant) != (str(mutant) in UNNOTICEABLE)


def _is_found(mutant: Mutant) -> bool:
    try:
        return any(first_contradiction(api) is not None for api in apis_of(mutant.module))
    except AssertionError:  # the broker is of no use: even the super user is refused
        return mutant.kind is Kind.DENIED


def apis_of(module: str) -> list[str]:
    """Return the APIs whose handlers use a module."""
    if module in _BY_NAME:
        return [_name(_BY_NAME[module])]
    if module == "authorization":
        return list(_COMMON)
    using = [one for one in MODULES if _uses(one, f"dray.api.{module}")]
    assert using, module
    return [_name(one) for one in using]


def _uses(module: ModuleType, other: str) -> bool:
    return any(getattr(value, "__module__", "") == other for value in vars(module).values())


def _name(module: ModuleType) -> str:
    name: str = module.API.api.name
    return name
