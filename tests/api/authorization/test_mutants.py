"""Mutants of the checks, each of which the recorded matrix finds: no check can be removed unnoticed."""

from types import ModuleType
from typing import Final

import pytest

from dray.api.dispatch import MODULES
from tests.api.authorization.comparing import first_contradiction
from tests.api.authorization.mutation import Mutant, active, mutants

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


@pytest.mark.parametrize("mutant", mutants(), ids=str)
def test_matrix_finds_the_mutant(mutant: Mutant) -> None:
    with active(mutant):
        assert any(first_contradiction(api) is not None for api in apis_of(mutant.module))


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
