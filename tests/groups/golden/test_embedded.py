"""Codec of the embedded consumer protocol, against bytes written by hand and round trips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.golden.embedded import (
    Assigned,
    NotEmbedded,
    Subscription,
    read_assignment,
    read_subscription,
)

NAMES = st.text(max_size=5)
PARTS = st.dictionaries(NAMES, st.lists(st.integers(0, 9), max_size=3), max_size=3)
DATA = st.none() | st.binary(max_size=4)


@st.composite
def subscriptions(draw: st.DrawFn) -> Subscription:
    version = draw(st.integers(0, 3))
    return Subscription(
        tuple(draw(st.lists(NAMES, max_size=3))),
        version,
        draw(DATA),
        draw(PARTS) if version >= 1 else {},
        draw(st.integers(-1, 99)) if version >= 2 else -1,
        draw(st.none() | NAMES) if version >= 3 else None,
    )


@given(subscriptions())
def test_subscriptions_round_trip(value: Subscription) -> None:
    assert read_subscription(value.encode()) == value


@given(PARTS, DATA, st.integers(0, 3))
def test_assignments_round_trip(parts: dict[str, list[int]], user_data: bytes | None, version: int) -> None:
    value = Assigned(parts, version, user_data)
    assert read_assignment(value.encode()) == value


def test_layout_equals_kafkas() -> None:
    subscription = Subscription(("t",), 1, owned={"t": [3]})
    written = "0001 00000001 0001 74 ffffffff 00000001 0001 74 00000001 00000003"
    assert subscription.encode() == bytes.fromhex(written)
    assigned = Assigned({"t": [0, 1]}, 0, b"x")
    assert assigned.encode() == bytes.fromhex("0000 00000001 0001 74 00000002 00000000 00000001 00000001 78")


@given(subscriptions(), st.integers(0, 40))
def test_truncated_subscription_raises(value: Subscription, cut: int) -> None:
    data = value.encode()
    with pytest.raises(NotEmbedded):
        read_subscription(data[: min(cut, len(data) - 1)])


@pytest.mark.parametrize(
    "data", [b"", b"\x00\x09", b"\x00\x01rubbish", b"opaque", Assigned({}).encode() + b"x"]
)
def test_other_bytes_raise(data: bytes) -> None:
    with pytest.raises(NotEmbedded):
        read_assignment(data)
