"""Registrations of brokers of different builds: each reads what the other writes."""

import msgspec

from dray.cluster.brokers import PLAINTEXT, BrokerInfo, Endpoint, decode_broker
from dray.meta.port import Entry, Version

FIRST = bytes.fromhex("97a2623107a16acd2384a16101a5302e312e30")
"""Written by the build that had one listener."""
WITH_LISTENERS = bytes.fromhex(
    "98a2623107a16acd2384a16101a5302e312e309293a9504c41494e54455854a16acd238493a353534ca16bcd2386"
)


class FirstBrokerInfo(msgspec.Struct, frozen=True, array_like=True, tag="b1"):
    """The registration as the build with one listener declares it."""

    broker_id: int
    host: str
    port: int
    zone: str | None
    started_at_ms: int
    version: str


def entry(value: bytes) -> Entry:
    return Entry("/dray/v1/brokers/7", value, Version(1))


def test_registration_of_an_older_build_is_read() -> None:
    assert decode_broker(entry(FIRST)) == BrokerInfo(7, "j", 9092, "a", 1, "0.1.0")


def test_registration_names_every_listener() -> None:
    listeners = (Endpoint(PLAINTEXT, "j", 9092), Endpoint("SSL", "k", 9094))
    info = BrokerInfo(7, "j", 9092, "a", 1, "0.1.0", listeners)
    assert msgspec.msgpack.encode(info) == WITH_LISTENERS
    assert decode_broker(entry(WITH_LISTENERS)) == info


def test_older_build_reads_a_registration_with_listeners() -> None:
    read = msgspec.msgpack.decode(WITH_LISTENERS, type=FirstBrokerInfo)
    assert read == FirstBrokerInfo(7, "j", 9092, "a", 1, "0.1.0")
    assert msgspec.msgpack.encode(read) == FIRST


def test_registration_with_fields_of_a_newer_build_is_read() -> None:
    newer = [*msgspec.msgpack.decode(WITH_LISTENERS), {"rack": 1}, "more"]
    assert decode_broker(entry(msgspec.msgpack.encode(newer))) == decode_broker(entry(WITH_LISTENERS))
