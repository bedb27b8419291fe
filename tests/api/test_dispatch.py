"""Dispatch of requests over a real socket: which are answered, which close the connection."""

import struct
from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api.dispatch import SERVED, Dispatcher
from dray.api.metrics import ApiMetrics
from dray.log import StoreUnavailable
from dray.observe import Metrics
from dray.wire import APIS, LENGTH_BYTES, RequestHeader, encode_request
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from tests.api.builders import PEER, Broker, on_broker, smallest_request
from tests.oracle.request_client import Closed, RequestClient, frame_of
from tests.oracle.requests import Named, fetch, part

UNKNOWN_KEYS = [-1, 999, 4, 5, 6, 7, 71, 72]
"""Including APIs between brokers, and telemetry, which must not seem to be supported."""


def header(key: int, version: int, correlation: int = 5) -> bytes:
    return struct.pack(">hhih", key, version, correlation, -1)


def alive(client: RequestClient) -> bool:
    return client.send(MetadataRequest(topics=[]), MetadataResponse, 9).error_code == 0


@pytest.mark.parametrize("key", UNKNOWN_KEYS)
def test_unknown_api_closes_the_connection(client: RequestClient, key: int) -> None:
    with pytest.raises(Closed):
        client.exchange(header(key, 0))
    assert alive(client)


NOT_SERVED = [
    (key, version)
    for key, served in sorted(SERVED.items())
    for version in (served.lowest - 1, served.highest + 1, 99)
    if key != 18
]


@pytest.mark.parametrize(("key", "version"), NOT_SERVED)
def test_unsupported_version_closes_the_connection(client: RequestClient, key: int, version: int) -> None:
    """Including Produce 0 to 2, although they are advertised."""
    with pytest.raises(Closed):
        client.exchange(header(key, version))


@pytest.mark.parametrize("key", sorted(SERVED))
def test_every_api_is_answered_in_every_served_version(client: RequestClient, key: int) -> None:
    """Each gets an empty request, and must return a response that can be decoded."""
    served = SERVED[key]
    for version in range(served.lowest, served.highest + 1):
        request = smallest_request(served.api)
        if served.api.name == "Produce":
            continue  # acks is 0 in an empty one: no answer; tests/api/test_produce.py has every version
        client.send(request, served.api.response, version)


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x00\x03", id="two bytes"),
        pytest.param(header(3, 9)[:9], id="half a header"),
        pytest.param(header(3, 9), id="a flexible header without tags"),
        pytest.param(header(3, 1) + b"\x00\x00\x00\x05", id="an array that is not there"),
        pytest.param(header(3, 1) + struct.pack(">i", 2**31 - 1), id="an array of two thousand million"),
        pytest.param(header(3, 9) + b"\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", id="an endless varint"),
        pytest.param(struct.pack(">hhih", 3, 1, 5, 30_000) + b"x", id="a client id that is not there"),
        pytest.param(struct.pack(">hhih", 3, 1, 5, -2), id="a client id of -2 bytes"),
        pytest.param(header(0, 3) + b"\xff" * 30, id="a produce of 0xff"),
    ],
)
def test_malformed_request_closes_the_connection(client: RequestClient, frame: bytes) -> None:
    with pytest.raises(Closed):
        client.exchange(frame)
    assert alive(client)


@pytest.mark.parametrize("version", [8, 9])
def test_client_id_is_optional(client: RequestClient, version: int) -> None:
    for client_id in (None, "", "x" * 300):
        client.send(MetadataRequest(topics=[]), MetadataResponse, version, client_id=client_id)


def test_responses_are_in_the_order_of_the_requests(client: RequestClient) -> None:
    api = APIS[3]
    for correlation in range(50):
        request = encode_request(api, RequestHeader(3, 9, correlation, "x"), MetadataRequest(topics=[]))
        client.connection.send(b"".join(request)[LENGTH_BYTES:])
    reply = [struct.unpack_from(">i", client.connection.receive())[0] for _ in range(50)]
    assert reply == list(range(50))


class _Reads:
    """A log that counts its reads."""

    def __init__(self, broker: Broker) -> None:
        self.watch = broker.services.log.watch
        self.count = 0

    async def read(self, *_: object, **__: object) -> None:
        self.count += 1
        raise StoreUnavailable("this log only counts")


@on_broker
async def test_fetch_reads_only_after_earlier_requests_were_answered(broker: Broker) -> None:
    """Otherwise a client that sends requests and does not read would fill memory with responses."""
    made = await broker.make_topic()
    log = _Reads(broker)
    dispatcher = Dispatcher(replace(broker.services, log=cast("Any", log)), ApiMetrics.on(Metrics()))
    frame = memoryview(frame_of(fetch(Named(made.name, made.topic_id), part()), 12))
    begun = [await dispatcher.begin(frame, PEER) for _ in range(100)]
    assert log.count == 0
    assert await begun[0]() is not None
    assert log.count == 1


def test_unknown_tags_are_skipped(client: RequestClient) -> None:
    """A newer client may send them."""
    plain = frame_of(MetadataRequest(topics=[]), 9)
    assert plain[-1] == 0, "no tags at the end"
    tagged = plain[:-1] + b"\x01\x63\x03abc"
    assert client.exchange(tagged)[:4] == plain[4:8]
    assert alive(client)
