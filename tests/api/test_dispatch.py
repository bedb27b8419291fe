"""From frames to handlers over a real socket: who is answered, who is cut off."""

import struct
from dataclasses import replace
from typing import Any, cast

import pytest

from dray.api.dispatch import SERVED, Dispatcher
from dray.api.metrics import ApiMetrics
from dray.log import StoreAway
from dray.observe import Metrics
from dray.wire import APIS, RequestHeader, encode_request
from dray.wire.apis.api_versions import ApiVersionsRequest
from dray.wire.apis.metadata import MetadataRequest, MetadataResponse
from dray.wire.frames import LENGTH_BYTES
from tests.api.builders import PEER, Broker, on_broker
from tests.oracle.asking import Asker, Closed, frame_of
from tests.oracle.requests import Named, fetch, part

UNKNOWN_KEYS = [-1, 999, 4, 5, 6, 7, 71, 72]
"""Among them what only brokers said to each other, and telemetry, which must seem to be absent."""


def header(key: int, version: int, correlation: int = 5) -> bytes:
    return struct.pack(">hhih", key, version, correlation, -1)


def alive(asker: Asker) -> bool:
    return asker.ask(MetadataRequest(topics=[]), MetadataResponse, 9).error_code == 0


@pytest.mark.parametrize("key", UNKNOWN_KEYS)
def test_who_asks_for_an_unknown_api_is_cut_off(asker: Asker, key: int) -> None:
    with pytest.raises(Closed):
        asker.exchange(header(key, 0))
    assert alive(asker)


NOT_SERVED = [
    (key, version)
    for key, served in sorted(SERVED.items())
    for version in (served.lowest - 1, served.highest + 1, 99)
    if key != 18
]


@pytest.mark.parametrize(("key", "version"), NOT_SERVED)
def test_who_asks_for_a_version_that_is_not_served_is_cut_off(asker: Asker, key: int, version: int) -> None:
    """Produce 0 to 2 among them, although they are advertised."""
    with pytest.raises(Closed):
        asker.exchange(header(key, version))


@pytest.mark.parametrize("key", sorted(SERVED))
def test_every_api_is_answered_in_every_version_it_is_served_in(asker: Asker, key: int) -> None:
    """An empty request of each; that an answer comes at all, and can be read, is what counts here."""
    served = SERVED[key]
    for version in range(served.lowest, served.highest + 1):
        request = served.api.request()
        if isinstance(request, ApiVersionsRequest):
            request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
        if served.api.name == "Produce":
            continue  # acks is 0 in an empty one: no answer; tests/api/test_produce.py has every version
        asker.ask(request, served.api.response, version)


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
def test_who_sends_what_cannot_be_read_is_cut_off(asker: Asker, frame: bytes) -> None:
    with pytest.raises(Closed):
        asker.exchange(frame)
    assert alive(asker)


@pytest.mark.parametrize("version", [8, 9])
def test_a_client_needs_no_name(asker: Asker, version: int) -> None:
    for client_id in (None, "", "x" * 300):
        asker.ask(MetadataRequest(topics=[]), MetadataResponse, version, client_id=client_id)


def test_answers_come_in_the_order_of_the_requests(asker: Asker) -> None:
    api = APIS[3]
    for correlation in range(50):
        request = encode_request(api, RequestHeader(3, 9, correlation, "x"), MetadataRequest(topics=[]))
        asker.connection.send(b"".join(request)[LENGTH_BYTES:])
    came = [struct.unpack_from(">i", asker.connection.receive())[0] for _ in range(50)]
    assert came == list(range(50))


class _Reads:
    """A log that counts who reads it."""

    def __init__(self, broker: Broker) -> None:
        self.watched = broker.services.log.watched
        self.count = 0

    async def read(self, *_: object, **__: object) -> None:
        self.count += 1
        raise StoreAway("it is enough to be asked")


@on_broker
async def test_a_fetch_reads_when_its_turn_to_be_answered_has_come(broker: Broker) -> None:
    """Or a client that asks without reading would have all the answers put into memory."""
    made = await broker.make_topic()
    log = _Reads(broker)
    dispatcher = Dispatcher(replace(broker.services, log=cast("Any", log)), ApiMetrics.on(Metrics()))
    frame = memoryview(frame_of(fetch(Named(made.name, made.topic_id), part()), 12))
    begun = [await dispatcher.begin(frame, PEER) for _ in range(100)]
    assert log.count == 0
    assert await begun[0]() is not None
    assert log.count == 1


def test_unknown_tags_are_skipped(asker: Asker) -> None:
    """A client newer than we are may say more than we know."""
    plain = frame_of(MetadataRequest(topics=[]), 9)
    assert plain[-1] == 0, "no tags at the end"
    tagged = plain[:-1] + b"\x01\x63\x03abc"
    assert asker.exchange(tagged)[:4] == plain[4:8]
    assert alive(asker)
