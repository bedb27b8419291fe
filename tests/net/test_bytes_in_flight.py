"""Hundreds of clients that each send part of a large request: memory is bounded, others are served."""

import http.client
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from uuid import uuid4

import pytest

from dray.net import server
from dray.testing import EmbeddedBroker, broker
from dray.wire import ErrorCode as E
from dray.wire.apis.produce import ProduceResponse
from tests.hostile.attacks import connected, resident_bytes, serves, until
from tests.oracle.batches import batch
from tests.oracle.request_client import request_client
from tests.oracle.requests import produce
from tests.oracle.transcripts import ResponseRecorder

MIB = 1 << 20
LIMIT = 16 * MIB
LARGEST = 8 * MIB
MANY = 300
BOUND = LIMIT + LARGEST + MANY * 2 * 16 * 1024
LIMITS = {"net.broker_in_flight_bytes_max": str(LIMIT), "net.socket_request_max_bytes": str(LARGEST)}


@pytest.fixture
def target() -> Iterator[EmbeddedBroker]:
    with broker(LIMITS) as running:
        yield running


def shown(target: EmbeddedBroker, name: str) -> float:
    """Return the value of a metric at /metrics."""
    host, _, port = target.http.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(name))


def announced(target: EmbeddedBroker, size: int, open_: ExitStack) -> socket.socket:
    """Connect a client that announces a request; it buffers little of it itself."""
    client = open_.enter_context(connected(target))
    client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * 1024)
    client.sendall(struct.pack(">i", size))
    client.settimeout(0)
    return client


def send_what_is_taken(clients: dict[socket.socket, int]) -> int:
    """Send as much of what is left as the sockets take now; returns how much that was."""
    before, chunk = sum(clients.values()), bytes(64 * 1024)
    for client in list(clients):
        with suppress(BlockingIOError):
            while clients[client]:
                clients[client] -= client.send(chunk[: clients[client]])
    return before - sum(clients.values())


def test_partial_requests_of_many_connections_are_bounded(target: EmbeddedBroker) -> None:
    """Unbounded they would take 1200 MiB."""
    before, most = resident_bytes(), 0.0
    with ExitStack() as open_:
        partials = {announced(target, LARGEST, open_): LARGEST // 2 for _ in range(MANY)}
        quiet = 0
        while quiet < 20:  # rounds in which no byte was sent
            quiet = 0 if send_what_is_taken(partials) else quiet + 1
            most = max(most, shown(target, "dray_net_in_flight_bytes"))
        assert LIMIT / 2 < most <= BOUND
        assert shown(target, "dray_net_waiting_connections") > 0
        assert sum(partials.values()) > MANY * LARGEST / 4, "most of it was not read"
        assert resident_bytes() - before < BOUND + 64 * MIB
        serves(target, uuid4().hex)
    assert until(lambda: shown(target, "dray_net_in_flight_bytes") == 0)
    assert shown(target, "dray_net_waiting_connections") == 0


def test_slow_senders_are_closed_while_others_wait_for_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large requests wait for the memory of partial ones, until these are closed."""
    monkeypatch.setattr(server, "_SLOW_CHECK_SECONDS", 0.05)
    with broker(LIMITS) as target, ExitStack() as open_:
        partials = {announced(target, LARGEST, open_): LARGEST // 2 for _ in range(60)}
        while not shown(target, "dray_net_waiting_connections"):
            send_what_is_taken(partials)
        with request_client((target.host, target.port), timeout_s=60) as client:
            topic = ResponseRecorder(client, uuid4().hex[:8]).topic("large", max_message_bytes=str(LARGEST))
            for _ in range(3):
                response = client.send(produce(topic, batch(bytes(2 * MIB))), ProduceResponse)
                assert response.responses[0].partition_responses[0].error_code == E.NONE
        assert shown(target, 'dray_net_closed_connections_total{cause="slow"}') > 0
        assert shown(target, 'dray_net_closed_connections_total{cause="broken"}') == 0
