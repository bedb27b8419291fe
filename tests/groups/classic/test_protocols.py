"""Protocol selection, and the topics that subscriptions name."""

from struct import pack
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.groups.classic import Phase, is_subscribed, parse_topics, subscribed_topics
from dray.groups.classic.protocols import select
from dray.groups.classic.state import Member
from tests.groups.classic.builders import preparing, stable

_MANY = 20_000
_CPU_SECONDS = 1.0
"""A nested loop takes ten times as long."""


def _member(name: str, protocols: list[str]) -> Member:
    return Member(name, None, "c", "h", 1, 1, tuple((one, b"") for one in protocols), 1)


def test_each_member_votes_for_its_first_common_protocol() -> None:
    members = [_member("a", ["x", "y", "z"]), _member("b", ["z", "y"]), _member("c", ["y", "w", "z"])]
    assert select(members) == "y"


def test_selection_from_long_lists_is_fast() -> None:
    names = [f"p{number}" for number in range(_MANY)]
    members = [_member("a", names), _member("b", names[::-1])]
    began = process_time()
    assert select(members) == "p0"
    assert process_time() - began < _CPU_SECONDS


def subscription(*topics: str, version: int = 0, user_data: bytes | None = None, more: bytes = b"") -> bytes:
    names = b"".join(pack(">h", len(name.encode())) + name.encode() for name in topics)
    data = pack(">i", -1) if user_data is None else pack(">i", len(user_data)) + user_data
    return pack(">hi", version, len(topics)) + names + data + more


def test_subscribed_topics_are_those_of_all_members() -> None:
    harness = preparing("a", protocols=(("range", subscription("x", "y")),))
    harness.enter("b", protocols=(("range", subscription("z", version=3, user_data=b"u", more=b"owned")),))
    while harness.phase() is Phase.PREPARING:
        assert subscribed_topics(harness.known) is None
        harness.fire(next(iter(harness.kinds())))
    assert subscribed_topics(harness.known) == frozenset({"x", "y", "z"})
    assert is_subscribed(harness.known, "z")
    assert not is_subscribed(harness.known, "other")


def test_empty_consumer_group_subscribes_to_nothing() -> None:
    harness = stable("a", protocols=(("range", subscription("x")),))
    harness.leave("a")
    assert subscribed_topics(harness.known) == frozenset()
    assert not is_subscribed(harness.known, "x")


def test_consumers_with_unknown_topics_may_read_any_topic() -> None:
    group = stable("a", protocols=(("range", b"?"),)).known
    assert subscribed_topics(group) is None
    assert is_subscribed(group, "x")


def test_topics_of_other_protocol_types_are_unknown() -> None:
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
def test_topics_of_malformed_subscriptions_are_unknown(data: bytes) -> None:
    assert parse_topics(data) is None


@given(st.binary(max_size=64))
def test_arbitrary_bytes_raise_nothing(data: bytes) -> None:
    topics = parse_topics(data)
    assert topics is None or all(isinstance(topic, str) for topic in topics)


@given(
    st.lists(st.text(max_size=9)), st.none() | st.binary(max_size=9), st.integers(0, 9), st.binary(max_size=9)
)
def test_topics_of_every_subscription_are_parsed(
    topics: list[str], user_data: bytes | None, version: int, more: bytes
) -> None:
    data = subscription(*topics, version=version, user_data=user_data, more=more)
    assert parse_topics(data) == frozenset(topics)
