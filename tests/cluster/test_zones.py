"""Zones: parsing of client ids, visible brokers, and the preferred broker of a stream."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dray.cluster.brokers import BrokerInfo
from dray.cluster.zones import preferred, visible_brokers, zone_of

KEYS = [number.to_bytes(8, "big") for number in range(3_000)]


def broker(broker_id: int, zone: str | None = None) -> BrokerInfo:
    return BrokerInfo(broker_id, "h", 9092, zone, 0, "1")


@pytest.mark.parametrize(
    ("client_id", "zone"),
    [
        ("zone_id=eu-1a", "eu-1a"),
        ("zone_id=eu-1a,app=orders", "eu-1a"),
        ("app=orders, zone_id = eu-1a ,x=y", "eu-1a"),
        ("zone_id=a=b", "a=b"),
        ("zone_id=,zone_id=b", "b"),
        ("zone_id=a,zone_id=b", "a"),
        ("zone_id", None),
        ("zone_id=", None),
        ("Zone_Id=a", None),
        ("my_zone_id=a", None),
        ("rdkafka", None),
        ("", None),
        (None, None),
    ],
)
def test_zone_is_parsed_from_the_client_id(client_id: str | None, zone: str | None) -> None:
    assert zone_of(client_id) == zone


@given(st.text())
def test_any_client_id_is_parsed(client_id: str) -> None:
    zone = zone_of(client_id)
    assert zone is None or (zone in client_id and zone == zone.strip() != "")


def test_client_sees_the_brokers_of_its_zone_or_all_if_there_are_none() -> None:
    brokers = [broker(1, "a"), broker(2, "b"), broker(3, "a"), broker(4)]
    assert [one.broker_id for one in visible_brokers(brokers, "a")] == [1, 3]
    assert visible_brokers(brokers, "c") == brokers
    assert visible_brokers(brokers, None) == brokers
    assert list(visible_brokers([], "a")) == []


def test_keys_are_spread_evenly() -> None:
    counted = Counter(preferred([broker(number) for number in range(5)], key).broker_id for key in KEYS)
    fair = len(KEYS) / 5
    assert sorted(counted) == [0, 1, 2, 3, 4]
    assert all(0.85 * fair < count < 1.15 * fair for count in counted.values())


def test_only_the_keys_of_a_lost_broker_move() -> None:
    before = {key: preferred([broker(number) for number in range(5)], key).broker_id for key in KEYS}
    after = {key: preferred([broker(number) for number in range(4)], key).broker_id for key in KEYS}
    moved = {key for key in KEYS if before[key] != after[key]}
    assert moved == {key for key in KEYS if before[key] == 4}


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=8, unique=True), st.binary())
def test_preferred_broker_does_not_depend_on_order(ids: list[int], key: bytes) -> None:
    brokers = [broker(number) for number in ids]
    assert preferred(brokers, key) == preferred(list(reversed(brokers)), key)
