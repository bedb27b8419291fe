"""Groups as admins see them, and the topics they read."""

from struct import pack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.groups.classic import (
    Phase,
    ShownGroup,
    ShownMember,
    delete_fault,
    is_empty,
    is_simple,
    is_subscribed,
    offset_delete_fault,
    parse_topics,
    show,
    simple,
    state_name,
    subscribed_topics,
)
from dray.groups.faults import Fault
from tests.groups.classic.builders import Desk, completing, preparing, stable


def subscription(*topics: str, version: int = 0, user_data: bytes | None = None, more: bytes = b"") -> bytes:
    names = b"".join(pack(">h", len(name.encode())) + name.encode() for name in topics)
    data = pack(">i", -1) if user_data is None else pack(">i", len(user_data)) + user_data
    return pack(">hi", version, len(topics)) + names + data + more


def test_the_names_of_the_phases() -> None:
    groups = (simple(0), preparing("a").known, completing("a").known, stable("a").known)
    assert [state_name(group) for group in groups] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]


def test_a_stable_group_is_shown_with_protocol_and_metadata() -> None:
    shown = show(stable("a", instance_id="i").known)
    member = ShownMember("a", "i", "client", "/10.0.0.1", b"r", b"a")
    assert shown == ShownGroup("Stable", "consumer", "range", (member,))


def test_a_group_in_a_rebalance_is_shown_without_them() -> None:
    desk = stable("a")
    desk.enter("b")
    old = ShownMember("a", None, "client", "/10.0.0.1", b"", b"a")
    new = ShownMember("b", None, "client", "/10.0.0.1", b"", b"")
    assert show(desk.known) == ShownGroup("PreparingRebalance", "consumer", "", (old, new))


def test_a_simple_group_is_shown_without_a_type() -> None:
    assert show(simple(0)) == ShownGroup("Empty", "", "", ())


def test_only_a_group_that_nobody_ever_joined_is_simple() -> None:
    assert is_simple(simple(0))
    waited_for = Desk()
    waited_for.ask(new_id="a")
    assert not is_simple(waited_for.known)
    emptied = stable("a")
    emptied.leave("a")
    assert not is_simple(emptied.known)


def test_only_an_empty_group_may_be_deleted() -> None:
    desk = stable("a")
    for group in (desk.known, completing("a").known, preparing("a").known):
        assert not is_empty(group)
        assert delete_fault(group) is Fault.NON_EMPTY_GROUP
    desk.leave("a")
    assert is_empty(desk.known)
    assert delete_fault(desk.known) is Fault.NONE


def test_offsets_of_a_group_that_is_no_consumers_may_be_deleted_only_if_it_is_empty() -> None:
    desk = stable("a", protocol_type="connect")
    assert offset_delete_fault(desk.known) is Fault.NON_EMPTY_GROUP
    desk.leave("a")
    assert offset_delete_fault(desk.known) is Fault.NONE
    assert offset_delete_fault(stable("a").known) is Fault.NONE


def test_the_topics_of_all_members() -> None:
    desk = preparing("a", protocols=(("range", subscription("x", "y")),))
    desk.enter("b", protocols=(("range", subscription("z", version=3, user_data=b"u", more=b"owned")),))
    while desk.phase() is Phase.PREPARING:
        assert subscribed_topics(desk.known) is None
        desk.fire(next(iter(desk.kinds())))
    assert subscribed_topics(desk.known) == frozenset({"x", "y", "z"})
    assert is_subscribed(desk.known, "z")
    assert not is_subscribed(desk.known, "other")


def test_an_empty_group_of_consumers_reads_nothing() -> None:
    desk = stable("a", protocols=(("range", subscription("x")),))
    desk.leave("a")
    assert subscribed_topics(desk.known) == frozenset()
    assert not is_subscribed(desk.known, "x")


def test_consumers_whose_topics_are_not_known_may_read_any() -> None:
    group = stable("a", protocols=(("range", b"?"),)).known
    assert subscribed_topics(group) is None
    assert is_subscribed(group, "x")


def test_of_others_the_topics_are_not_known() -> None:
    group = stable("a", protocol_type="connect", protocols=(("p", subscription("x")),)).known
    assert subscribed_topics(group) is None
    assert not is_subscribed(group, "x")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        pack(">h", 0),
        pack(">hi", 0, 1),
        pack(">hi", 0, 2**31 - 1),
        pack(">hi", 0, -1) + pack(">i", -1),
        pack(">hih", 0, 1, 5) + b"abc",
        pack(">hih", 0, 1, -1) + pack(">i", -1),
        subscription("x")[:-1],
        pack(">hi", 0, 0) + pack(">i", 1),
    ],
)
def test_bytes_that_are_no_subscription(data: bytes) -> None:
    assert parse_topics(data) is None


@given(st.binary(max_size=64))
def test_no_bytes_raise(data: bytes) -> None:
    topics = parse_topics(data)
    assert topics is None or all(isinstance(topic, str) for topic in topics)


@given(
    st.lists(st.text(max_size=9)), st.none() | st.binary(max_size=9), st.integers(0, 9), st.binary(max_size=9)
)
def test_every_subscription_is_understood(
    topics: list[str], user_data: bytes | None, version: int, more: bytes
) -> None:
    data = subscription(*topics, version=version, user_data=user_data, more=more)
    assert parse_topics(data) == frozenset(topics)
