"""Clients that do not read, are idle or disconnect: others are served and memory stays bounded."""

import socket
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from dray.records import Codec, compress
from dray.testing import EmbeddedBroker, broker
from dray.wire import ErrorCode as E
from dray.wire.apis.list_offsets import ListOffsetsResponse
from dray.wire.apis.produce import ProduceResponse
from tests.hostile.attacks import connected, filled_topic, framed, resident_bytes, serves, until
from tests.oracle.batches import batch, with_payload
from tests.oracle.request_client import frame_of, request_client
from tests.oracle.requests import LATEST, fetch, offsets, part, produce
from tests.oracle.transcripts import ResponseRecorder

pytestmark = pytest.mark.slow

MIB = 1 << 20
IDLE = 2_000
IDLE_BYTES_EACH = 40_000
READERS = 4
ANSWERS = 24


def test_clients_that_do_not_read_do_not_fill_memory(tmp_path: Path) -> None:
    """Each requests 24 different responses of 8 MiB, and reads none of them."""
    caches = {"log.tail_cache_bytes_max": "1048576", "log.range_cache_bytes_max": "1048576"}
    with broker({"storage.url": f"file:{tmp_path}", **caches}) as target, ExitStack() as open_:
        topic = filled_topic(target, "unread", ANSWERS)
        before = resident_bytes()
        for _ in range(READERS):
            client = open_.enter_context(connected(target))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            requested = [fetch(topic, part(offset, most=8 * MIB)) for offset in range(ANSWERS)]
            client.sendall(b"".join(framed(frame_of(one, 17)) for one in requested))
        for _ in range(40):
            serves(target, uuid4().hex)
        # Each holds one response, and the socket a copy of it; all of them would be 768 MiB.
        assert resident_bytes() - before < READERS * 5 * 8 * MIB


def test_thousands_of_idle_connections_use_little_memory(target: EmbeddedBroker) -> None:
    before = resident_bytes()
    with ExitStack() as open_:
        for _ in range(IDLE):
            open_.enter_context(connected(target))
        serves(target, uuid4().hex)
        grown = resident_bytes() - before
        assert grown < IDLE * IDLE_BYTES_EACH, f"{grown // IDLE} bytes each"
    serves(target, uuid4().hex)


def test_producers_that_disconnect_in_the_middle_of_a_request(target: EmbeddedBroker) -> None:
    with request_client((target.host, target.port)) as client:
        topic = ResponseRecorder(client, uuid4().hex[:8]).topic("vanishing")
        whole = framed(frame_of(produce(topic, batch(b"x" * 10_000)), 9))
        for cut in range(1, len(whole), 400):
            with connected(target) as producer:
                producer.sendall(whole[:cut])
        for _ in range(20):
            with connected(target) as producer:
                producer.sendall(whole)  # all of it, and closed before the response

        def end() -> int:
            return (
                client.send(offsets(topic.name, LATEST), ListOffsetsResponse).topics[0].partitions[0].offset
            )

        assert until(lambda: end() == 20), "whole requests count, halves do not"
        response = client.send(produce(topic, batch(b"after")), ProduceResponse)
        assert response.responses[0].partition_responses[0].base_offset == 20


def test_decompression_bombs_are_refused_within_the_memory_bound(target: EmbeddedBroker) -> None:
    """On topics whose batches the broker decompresses; elsewhere a bomb is just bytes."""
    with request_client((target.host, target.port)) as client:
        recorder = ResponseRecorder(client, uuid4().hex[:8])
        topics = [
            recorder.topic("compacted", cleanup_policy="compact"),
            recorder.topic("recompressed", compression_type="lz4"),
        ]
        before = resident_bytes()
        for codec in (Codec.GZIP, Codec.ZSTD):
            bomb = with_payload(batch(codec=codec), compress(codec, bytes(512 * MIB)))
            for topic in topics:
                response = (
                    client.send(produce(topic, bomb), ProduceResponse).responses[0].partition_responses[0]
                )
                assert response.error_code == E.MESSAGE_TOO_LARGE
        assert resident_bytes() - before < 100 * MIB
    serves(target, uuid4().hex)


def test_flood_of_small_requests_is_answered_in_order_and_bounded(target: EmbeddedBroker) -> None:
    before = resident_bytes()
    with request_client((target.host, target.port), timeout_s=30) as client:
        topic = ResponseRecorder(client, uuid4().hex[:8]).topic("flood")
        one = framed(frame_of(produce(topic, batch(b"y" * 100)), 9))
        client.connection.send_unframed(one * 2000)
        for _ in range(2000):
            assert len(client.connection.receive()) > 10
    assert resident_bytes() - before < 64 * MIB
