"""Listeners as settings name them: addresses, protocols, and combinations that are refused."""

import pytest

from dray.cluster.addresses import Address
from dray.net.endpoints import (
    Protocol,
    is_loopback,
    parse_addresses,
    plan_listeners,
    with_port_offset,
    written,
)


def test_address_without_a_name_is_plaintext() -> None:
    (plan,) = plan_listeners("127.0.0.1:9092", "kafka.example:19092", None)
    assert (plan.name, plan.protocol, plan.listen) == ("PLAINTEXT", "PLAINTEXT", Address("127.0.0.1", 9092))
    assert plan.advertise == Address("kafka.example", 19092)


def test_listeners_have_names_protocols_and_advertised_addresses() -> None:
    plans = plan_listeners(
        "ssl://0.0.0.0:9093, INTERNAL://[::1]:9094", "SSL://k.example:443", "Internal:sasl_ssl"
    )
    assert [(one.name, one.protocol, one.listen, one.advertise) for one in plans] == [
        ("SSL", Protocol.SSL, Address("0.0.0.0", 9093), Address("k.example", 443)),
        ("INTERNAL", Protocol.SASL_SSL, Address("::1", 9094), None),
    ]


def test_only_listener_needs_no_name_to_be_advertised() -> None:
    (plan,) = plan_listeners("SSL://0.0.0.0:9093", "k.example:443", None)
    assert plan.advertise == Address("k.example", 443)


@pytest.mark.parametrize(
    ("listen", "advertise", "protocols", "expected"),
    [
        (
            "TLS://h:1",
            None,
            None,
            "listener TLS has no protocol; set listener_protocols to TLS: and one of PLAI",
        ),
        (
            "IN://h:1",
            None,
            "IN:TLS",
            "unknown protocol 'TLS' of listener IN; expected one of PLAINTEXT, SSL, SA",
        ),
        ("SSL://h:1", None, "IN:SSL", "listener_protocols names IN, which is not a listener"),
        ("SSL://h:1", None, "SSL", "expected NAME:VALUE, got 'SSL'"),
        ("SSL://h:1,ssl://h:2", None, None, "listen names the listener SSL twice"),
        ("SSL://h:1,PLAINTEXT://h:1", None, None, "listeners SSL and PLAINTEXT have the same port, 1"),
        (
            "SSL://0.0.0.0:1,PLAINTEXT://h:1",
            "SSL://a:1",
            None,
            "listeners SSL and PLAINTEXT have the same port",
        ),
        ("SSL://h:65536", None, None, "listen h:65536 has an invalid port; the highest is 65535"),
        ("SSL://h:1", "SSL://h:65536", None, "advertise h:65536 has an invalid port"),
        ("SSL://h:1", "IN://h:1", None, "advertise names IN, which is not a listener of listen"),
        (
            "SSL://h:1,PLAINTEXT://h:2",
            "h:1",
            None,
            "advertise h:1 must name its listener, as there are several",
        ),
        ("SSL://0.0.0.0:1", None, None, r"clients cannot connect to 0\.0\.0\.0:1; set advertise"),
        ("SSL://h:1", "SSL://[::]:1", None, "clients cannot connect to"),
        ("SSL://h", None, None, "expected HOST:PORT, got 'h'"),
        ("SSL://h:1,h:2", None, None, "listen: expected NAME://HOST:PORT, got 'h:2'"),
    ],
)
def test_impossible_combinations_are_refused(
    listen: str, advertise: str | None, protocols: str | None, expected: str
) -> None:
    with pytest.raises(ValueError, match=f"^{expected}"):
        plan_listeners(listen, advertise, protocols)


def test_one_port_on_two_addresses_is_allowed() -> None:
    assert len(plan_listeners("SSL://127.0.0.1:1,PLAINTEXT://[::1]:1", None, None)) == 2
    assert len(plan_listeners("SSL://h:0,PLAINTEXT://h:0", None, None)) == 2


@pytest.mark.parametrize("text", ["127.0.0.1:9092", "SSL://[::1]:0", "SSL://a:1,PLAINTEXT://b:2"])
def test_addresses_round_trip(text: str) -> None:
    assert written(parse_addresses(text, "listen")) == text


def test_further_brokers_get_the_next_port_of_every_listener() -> None:
    assert with_port_offset("SSL://a:10,IN://b:0", "listen", 2) == "SSL://a:12,IN://b:0"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("kafka.example", False),
        ("localhost.example", False),
    ],
)
def test_only_addresses_of_this_machine_are_loopback(host: str, *, expected: bool) -> None:
    assert is_loopback(host) is expected


@pytest.mark.parametrize("protocol", list(Protocol))
def test_listener_without_tls_on_another_address_is_exposed(protocol: Protocol) -> None:
    (plan,) = plan_listeners(f"{protocol}://10.0.0.1:1", None, None)
    assert plan.is_exposed is (protocol in ("PLAINTEXT", "SASL_PLAINTEXT"))
    (local,) = plan_listeners(f"{protocol}://127.0.0.1:1", None, None)
    assert not local.is_exposed
