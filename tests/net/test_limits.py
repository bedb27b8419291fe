"""Limits of connections: numbers in all, by listener and by address, and rates."""

import pytest
from msgspec import ValidationError, convert

from dray.net import NetSettings
from dray.net.limits import ConnectionLimits, RateOf, unlimited
from dray.quotas import AddressShare


def limits(rate_of: RateOf = unlimited, **settings: int | str) -> ConnectionLimits:
    return ConnectionLimits(convert(settings, NetSettings), rate_of)


def refusals(found: ConnectionLimits, listener: str, ip: str, count: int) -> int:
    """Open connections; returns how many are refused."""
    refused = 0
    for _ in range(count):
        if found.refusal(listener, ip) is None:
            found.open(listener, ip)
        else:
            refused += 1
    return refused


def test_number_of_all_connections_is_limited() -> None:
    found = limits(connections_max=3)
    assert refusals(found, "A", "1", 2) + refusals(found, "B", "2", 2) == 1
    assert "net.connections_max" in (found.refusal("A", "3") or "")


def test_number_of_connections_of_one_listener_is_limited() -> None:
    found = limits(connections_per_listener_max="a:2")
    assert refusals(found, "A", "1", 5) == 3
    assert refusals(found, "B", "1", 5) == 0
    assert "listener A" in (found.refusal("A", "9") or "")


def test_number_of_connections_of_one_address_is_limited() -> None:
    found = limits(connections_per_ip_max=2, connections_per_ip_overrides="10.0.0.9:4, [2001:db8::1]:0")
    assert refusals(found, "A", "10.0.0.1", 5) == 3
    assert refusals(found, "A", "10.0.0.9", 5) == 1
    assert refusals(found, "A", "2001:db8::1", 5) == 5


def test_addresses_of_one_ipv6_network_count_together() -> None:
    found = limits(connections_per_ip_max=2, connections_per_ip_overrides="[2001:db8::9]:3")
    assert refusals(found, "A", "2001:db8::1", 2) == 0
    assert "2001:db8::/64 has too many" in (found.refusal("A", "2001:db8::2") or "")
    assert refusals(found, "A", "2001:db8:0:1::1", 2) == 0
    assert refusals(found, "A", "2001:db8::9", 5) == 2, "it has a limit of its own"


def test_released_slot_is_free_again_once() -> None:
    found = limits(connections_max=1)
    slot = found.open("A", "1")
    assert found.refusal("A", "1") is not None
    slot.release()
    slot.release()
    assert found.refusal("A", "1") is None
    found.open("A", "1")
    assert found.refusal("A", "1") is not None
    assert found.of("A") == 1


def accepted_in(found: ConnectionLimits, listener: str, seconds: float) -> int:
    """Accept as fast as allowed for a while."""
    now, count = 0.0, 0
    while now < seconds:
        wait_s = found.accept_wait_s(listener, now)
        if wait_s > 0:
            now += wait_s + 1e-9
        else:
            found.accepted(listener, now)
            count += 1
    return count


def test_rate_of_all_connections_is_limited_after_a_second_at_once() -> None:
    found = limits(connection_rate_max=10)
    assert accepted_in(found, "A", 5) == pytest.approx(10 + 5 * 10, abs=1)


def test_rate_of_one_listener_is_limited() -> None:
    found = limits(connection_rate_per_listener_max="A:2")
    assert accepted_in(found, "A", 10) == pytest.approx(2 + 10 * 2, abs=1)
    assert found.accept_wait_s("B", 0) == 0


def test_address_that_connects_too_often_has_to_wait() -> None:
    rates = {"10.0.0.1": AddressShare("10.0.0.1", 2.0)}
    found = limits(rates.get)
    assert [found.ip_wait_s("10.0.0.1", 0) for _ in range(3)] == [0, 0, 0.5]
    assert found.ip_wait_s("10.0.0.1", 0.5) == 0
    assert [found.ip_wait_s("10.0.0.2", 0) for _ in range(50)] == [0] * 50
    rates["10.0.0.1"] = AddressShare("10.0.0.1", 5.0)
    assert [found.ip_wait_s("10.0.0.1", 0.5) for _ in range(6)] == [0, 0, 0, 0, 0, 0.2]


def test_rates_of_a_bounded_number_of_addresses_are_remembered() -> None:
    found = limits(lambda ip: AddressShare(ip, 1.0))
    for number in range(25_000):
        assert found.ip_wait_s(f"10.{number // 65536}.{number // 256 % 256}.{number % 256}", 0) == 0
        assert (found.ip_wait_s("192.0.2.1", 0) == 0) == (number == 0), (
            "one that connects often is not forgotten"
        )
    assert len(found._network_rates) == 10_000


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"connections_per_listener_max": "A"}, "connections_per_listener_max: expected NAME:VALUE, got 'A'"),
        (
            {"connections_per_listener_max": "A:0"},
            "connections_per_listener_max: expected a number of at least 1",
        ),
        ({"connection_rate_per_listener_max": "A:x"}, "connection_rate_per_listener_max: expected a number"),
        (
            {"connections_per_ip_overrides": "host:1"},
            "connections_per_ip_overrides: 'host' does not appear to be",
        ),
        ({"connections_per_ip_overrides": "10.0.0.1:-1"}, "connections_per_ip_overrides: expected a number"),
    ],
)
def test_malformed_limits_are_refused(settings: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        convert(settings, NetSettings)
