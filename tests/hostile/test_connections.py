"""Clients that do not read, that do nothing, that vanish: others are served and memory stays bounded."""

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
from tests.oracle.asking import asking, frame_of
from tests.oracle.batches import batch, with_payload
from tests.oracle.requests import LATEST, fetch, offsets, part, produce
from tests.oracle.transcripts import Witness

pytestmark = pytest.mark.slow

MIB = 1 << 20
IDLE = 2_000
IDLE_BYTES_EACH = 40_000
READERS = 4
ANSWERS = 24


def test_readers_that_do_not_read(tmp_path: Path) -> None:
    """Each asks for 24 answers of 8 MiB, none like another, and takes none of them."""
    caches = {"log.recent_bytes_max": "1048576", "log.range_cache_bytes_max": "1048576"}
    with broker({"storage.url": f"file:{tmp_path}", **caches}) as target, ExitStack() as open_:
        topic = filled_topic(target, "unread", ANSWERS)
        before = resident_bytes()
        for _ in range(READERS):
            client = open_.enter_context(connected(target))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            asked = [fetch(topic, part(offset, most=8 * MIB)) for offset in range(ANSWERS)]
            client.sendall(b"".join(framed(frame_of(one, 17)) for one in asked))
        for _ in range(40):
            serves(target, uuid4().hex)
        # Each holds one answer, and the socket a copy of it; all of them would be 768 MiB.
        assert resident_bytes() - before < READERS * 5 * 8 * MIB


def test_thousands_of_idle_connections(target: EmbeddedBroker) -> None:
    before = resident_bytes()
    with ExitStack() as open_:
        for _ in range(IDLE):
            open_.enter_context(connected(target))
        serves(target, uuid4().hex)
        grown = resident_bytes() - before
        assert grown < IDLE * IDLE_BYTES_EACH, f"{grown // IDLE} bytes each"
    serves(target, uuid4().hex)


def test_producers_that_vanish_in_the_middle_of_a_request(target: EmbeddedBroker) -> None:
    with asking((target.host, target.port)) as asker:
        topic = Witness(asker, uuid4().hex[:8]).topic("vanishing")
        whole = framed(frame_of(produce(topic, batch(b"x" * 10_000)), 9))
        for cut in range(1, len(whole), 400):
            with connected(target) as client:
                client.sendall(whole[:cut])
        for _ in range(20):
            with connected(target) as client:
                client.sendall(whole)  # all of it, and gone before the answer

        def end() -> int:
            return asker.ask(offsets(topic.name, LATEST), ListOffsetsResponse).topics[0].partitions[0].offset

        assert until(lambda: end() == 20), "whole requests count, halves do not"
        told = asker.ask(produce(topic, batch(b"after")), ProduceResponse)
        assert told.responses[0].partition_responses[0].base_offset == 20


def test_decompression_bombs_are_refused_and_cost_no_more_than_the_bound(target: EmbeddedBroker) -> None:
    """On topics that make the broker decompress; elsewhere a bomb is just bytes."""
    with asking((target.host, target.port)) as asker:
        witness = Witness(asker, uuid4().hex[:8])
        topics = [
            witness.topic("compacted", cleanup_policy="compact"),
            witness.topic("recompressed", compression_type="lz4"),
        ]
        before = resident_bytes()
        for codec in (Codec.GZIP, Codec.ZSTD):
            bomb = with_payload(batch(codec=codec), compress(codec, bytes(512 * MIB)))
            for topic in topics:
                told = asker.ask(produce(topic, bomb), ProduceResponse).responses[0].partition_responses[0]
                assert told.error_code == E.MESSAGE_TOO_LARGE
        assert resident_bytes() - before < 100 * MIB
    serves(target, uuid4().hex)


def test_a_flood_of_small_requests_is_answered_in_order_and_bounded(target: EmbeddedBroker) -> None:
    before = resident_bytes()
    with asking((target.host, target.port), timeout_s=30) as asker:
        topic = Witness(asker, uuid4().hex[:8]).topic("flood")
        one = framed(frame_of(produce(topic, batch(b"y" * 100)), 9))
        asker.connection.send_unframed(one * 2000)
        for _ in range(2000):
            assert len(asker.connection.receive()) > 10
    assert resident_bytes() - before < 64 * MIB
