"""Settled groups: those whose members share all partitions."""

import pytest

from tests.chaos.groups.group_state import GroupState

_CLIENTS = frozenset({"a", "b"})
_SHARED = {"a": (0, 2), "b": (1, 3)}


def test_stable_group_with_all_partitions_assigned_is_settled() -> None:
    assert GroupState("Stable", _SHARED).is_settled(_CLIENTS, 4)


@pytest.mark.parametrize(
    "described",
    [
        GroupState("PreparingRebalance", _SHARED),
        GroupState("Stable", {"a": (0, 2), "b": (1,)}),
        GroupState("Stable", {"a": (0, 2), "b": (1, 2)}),
        GroupState("Stable", {"a": (0, 1, 2, 3)}),
        GroupState("Stable", _SHARED | {"c": ()}),
        GroupState("Stable", {"a": (0, 2), "a again": (1, 3)}),
        GroupState("Stable", {}),
    ],
    ids=[
        "rebalancing",
        "unassigned partition",
        "partition assigned twice",
        "missing member",
        "unexpected member",
        "duplicate client",
        "empty",
    ],
)
def test_any_other_state_is_not_settled(described: GroupState) -> None:
    assert not described.is_settled(_CLIENTS, 4)
