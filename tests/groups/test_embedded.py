"""Embedded consumer protocol: subscriptions, assignments, and malformed bytes."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dray.groups.embedded import (
    HIGHEST_VERSION,
    Assignment,
    Malformed,
    Subscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    version_of,
)
from tests.groups.subscriptions import encode_subscription

VERSIONS = st.integers(0, HIGHEST_VERSION)
NAMES = st.text(max_size=12)
PARTITIONS = st.dictionaries(
    NAMES, st.lists(st.integers(0, 2**31 - 1), unique=True, max_size=4).map(sorted).map(tuple), max_size=3
)
USER_DATA = st.none() | st.binary(max_size=8)


def test_subscription_is_encoded_byte_by_byte() -> None:
    data = bytes.fromhex(
        "0003 00000001 0001 74 ffffffff 00000001 0001 74 00000002 00000000 00000002 00000007 0001 72"
    )
    subscription = Subscription(("t",), None, {"t": (0, 2)}, 7, "r")
    assert decode_subscription(data) == subscription
    assert encode_subscription(subscription, 3) == data


def test_assignment_is_encoded_byte_by_byte() -> None:
    data = bytes.fromhex("0001 00000001 0001 74 00000002 00000001 00000004 00000001 ff")
    assignment = Assignment({"t": (1, 4)}, b"\xff")
    assert decode_assignment(data) == assignment
    assert encode_assignment(assignment, 1) == data


SUBSCRIPTIONS = st.builds(
    Subscription,
    st.lists(NAMES, max_size=3).map(tuple),
    USER_DATA,
    PARTITIONS,
    st.integers(-1, 9),
    st.none() | NAMES,
)


@given(VERSIONS, SUBSCRIPTIONS)
def test_subscriptions_round_trip(version: int, subscription: Subscription) -> None:
    data = encode_subscription(subscription, version)
    assert version_of(data) == version
    assert decode_subscription(data) == Subscription(
        subscription.topics,
        subscription.user_data,
        subscription.owned if version >= 1 else None,
        subscription.generation if version >= 2 else -1,
        subscription.rack_id if version >= 3 else None,
    )


@given(VERSIONS, PARTITIONS, USER_DATA)
def test_assignments_round_trip(
    version: int, partitions: dict[str, tuple[int, ...]], user_data: bytes | None
) -> None:
    assignment = Assignment(partitions, user_data)
    assert decode_assignment(encode_assignment(assignment, version)) == assignment


@given(st.binary(max_size=60))
@example(b"\x00\x00\x7f\xff\xff\xff")
@example(b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xfe")
@example(b"\x00\x00\xff\xff\xff\xff")
def test_any_bytes_decode_or_are_malformed(data: bytes) -> None:
    for decode in (decode_subscription, decode_assignment, version_of):
        try:
            decode(data)
        except Malformed:
            continue


@given(st.data(), VERSIONS, PARTITIONS)
def test_truncated_bytes_are_malformed(
    data: st.DataObject, version: int, owned: dict[str, tuple[int, ...]]
) -> None:
    whole = encode_subscription(Subscription(("t",), b"u", owned, 1, "r"), version)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Malformed):
        decode_subscription(whole[:cut])


def test_negative_versions_are_malformed() -> None:
    with pytest.raises(Malformed):
        decode_subscription(b"\xff\xff" + b"\x00" * 8)


def test_newer_versions_are_read_as_the_highest_known() -> None:
    subscription = Subscription(("t",), None, {}, 7, None)
    data = encode_subscription(subscription, 3)
    assert decode_subscription(b"\x00\x09" + data[2:] + b"more") == subscription


def test_huge_count_is_malformed() -> None:
    with pytest.raises(Malformed, match="2147483647"):
        decode_assignment(bytes.fromhex("0000 7fffffff 0000"))


def test_invalid_utf8_is_replaced() -> None:
    assert decode_subscription(bytes.fromhex("0000 00000001 0001 ff ffffffff")).topics == ("\ufffd",)
