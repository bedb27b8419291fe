"""That the measurement works; what it measures is printed by `python -m tests.groups.assignors`."""

import pytest

from dray.groups.assignors import ASSIGNORS
from tests.groups.assignors.speed import measure


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("mixed", [False, True])
def test_three_times_are_taken(name: str, mixed: bool) -> None:
    taken = measure(ASSIGNORS[name], members=20, partitions=100, topics=5, mixed=mixed)
    assert len(taken) == 3
    assert all(0 < milliseconds < 1_000 for milliseconds in taken)
