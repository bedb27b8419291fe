"""When a group counts as settled."""

import pytest

from tests.chaos.groups.sight import Standing

_CLIENTS = frozenset({"a", "b"})
_SHARED = {"a": (0, 2), "b": (1, 3)}


def test_a_group_is_settled_when_its_members_share_all_partitions() -> None:
    assert Standing("Stable", _SHARED).is_settled(_CLIENTS, 4)


@pytest.mark.parametrize(
    "standing",
    [
        Standing("PreparingRebalance", _SHARED),
        Standing("Stable", {"a": (0, 2), "b": (1,)}),
        Standing("Stable", {"a": (0, 2), "b": (1, 2)}),
        Standing("Stable", {"a": (0, 1, 2, 3)}),
        Standing("Stable", _SHARED | {"c": ()}),
        Standing("Stable", {"a": (0, 2), "a again": (1, 3)}),
        Standing("Stable", {}),
    ],
    ids=["rebalancing", "one is free", "one is shared", "one is missing", "a stranger", "twice", "empty"],
)
def test_else_it_is_not(standing: Standing) -> None:
    assert not standing.is_settled(_CLIENTS, 4)
