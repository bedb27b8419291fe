"""Smoke test of the speed measurement; `python -m tests.groups.assignors` prints its results."""

import pytest

from dray.groups.consumer import ASSIGNORS
from tests.groups.assignors.speed import measure


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("mixed", [False, True])
def test_measurement_returns_three_times(name: str, mixed: bool) -> None:
    taken = measure(ASSIGNORS[name], members=20, partitions=100, topics=5, mixed=mixed)
    assert len(taken) == 3
    assert all(0 < milliseconds < 1_000 for milliseconds in taken)
