"""Admin view of classic groups."""

from dray.groups.classic import (
    GroupDescription,
    MemberDescription,
    delete_error,
    describe,
    is_empty,
    is_simple,
    new_group,
    offset_delete_error,
    state_name,
)
from dray.groups.types import GroupError
from tests.groups.classic.builders import GroupHarness, completing, preparing, stable


def test_state_names_are_kafkas() -> None:
    groups = (new_group(0), preparing("a").known, completing("a").known, stable("a").known)
    assert [state_name(group) for group in groups] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]


def test_stable_group_is_described_with_protocol_and_metadata() -> None:
    description = describe(stable("a", instance_id="i").known)
    member = MemberDescription("a", "i", "client", "/10.0.0.1", b"r", b"a")
    assert description == GroupDescription("Stable", "consumer", "range", (member,))


def test_rebalancing_group_is_described_without_protocol_and_metadata() -> None:
    harness = stable("a")
    harness.enter("b")
    old = MemberDescription("a", None, "client", "/10.0.0.1", b"", b"a")
    new = MemberDescription("b", None, "client", "/10.0.0.1", b"", b"")
    assert describe(harness.known) == GroupDescription("PreparingRebalance", "consumer", "", (old, new))


def test_simple_group_is_described_without_a_protocol_type() -> None:
    assert describe(new_group(0)) == GroupDescription("Empty", "", "", ())


def test_only_a_group_that_was_never_joined_is_simple() -> None:
    assert is_simple(new_group(0))
    assigned_id = GroupHarness()
    assigned_id.join(new_member_id="a")
    assert not is_simple(assigned_id.known)
    emptied = stable("a")
    emptied.leave("a")
    assert not is_simple(emptied.known)


def test_only_an_empty_group_may_be_deleted() -> None:
    harness = stable("a")
    for group in (harness.known, completing("a").known, preparing("a").known):
        assert not is_empty(group)
        assert delete_error(group) is GroupError.NON_EMPTY_GROUP
    harness.leave("a")
    assert is_empty(harness.known)
    assert delete_error(harness.known) is GroupError.NONE


def test_offsets_of_a_non_consumer_group_may_be_deleted_only_if_it_is_empty() -> None:
    harness = stable("a", protocol_type="connect")
    assert offset_delete_error(harness.known) is GroupError.NON_EMPTY_GROUP
    harness.leave("a")
    assert offset_delete_error(harness.known) is GroupError.NONE
    assert offset_delete_error(stable("a").known) is GroupError.NONE
