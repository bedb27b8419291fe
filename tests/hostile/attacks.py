"""Helpers for hostile clients, and measurements of what they cost."""

import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dray.testing import EmbeddedBroker
from dray.wire.apis.fetch import FetchResponse
from dray.wire.apis.produce import ProduceResponse
from tests.oracle.batches import batch
from tests.oracle.request_client import request_client
from tests.oracle.requests import Named, fetch, part, produce
from tests.oracle.transcripts import ResponseRecorder

MIB = 1 << 20


@contextmanager
def connected(broker: EmbeddedBroker) -> Iterator[socket.socket]:
    with socket.create_connection((broker.host, broker.port), timeout=10) as client:
        yield client


def framed(payload: bytes) -> bytes:
    return struct.pack(">i", len(payload)) + payload


def is_closed(client: socket.socket) -> bool:
    """Return whether the broker closes the connection without a response, within the socket's timeout."""
    try:
        return client.recv(1) == b""
    except ConnectionError:
        return True


def serves(broker: EmbeddedBroker, suffix: str) -> None:
    """Check that an ordinary client can create a topic, produce and fetch."""
    with request_client((broker.host, broker.port)) as client:
        topic = ResponseRecorder(client, suffix).topic("ordinary")
        assert client.send(produce(topic, batch(b"still here")), ProduceResponse).responses
        reply = client.send(fetch(topic, part()), FetchResponse).responses[0].partitions[0]
        assert b"still here" in b"".join(reply.records or ())


def filled_topic(broker: EmbeddedBroker, suffix: str, mebibytes: int) -> Named:
    with request_client((broker.host, broker.port)) as client:
        topic = ResponseRecorder(client, suffix).topic("filled", max_message_bytes="1100000")
        for _ in range(mebibytes):
            response = client.send(produce(topic, batch(bytes(MIB))), ProduceResponse)
            assert response.responses[0].partition_responses[0].error_code == 0
        return topic


def resident_bytes() -> int:
    """Return the memory of this process, in which the broker runs."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def until(holds: Callable[[], bool], seconds: float = 10.0) -> bool:
    """Poll a condition that another thread fulfills without notifying."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
    return True
