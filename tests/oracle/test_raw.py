"""Raw connections, which distinguish a response, a closed connection and no response."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.oracle.kafka import Kafka
from tests.oracle.raw import BadFrame, ClosedByPeer, NoAnswer, NotConnected, RawConnection

API_VERSIONS = 18
UNSUPPORTED_VERSION = 35


def request(key: int, version: int, correlation: int = 1) -> bytes:
    """A request without a body and without a client id."""
    return struct.pack(">hhih", key, version, correlation, -1)


@contextmanager
def peer(act: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """A server that accepts one connection and calls `act` with it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            accepted, _ = listener.accept()
            with accepted:
                act(accepted)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            thread.join()


@contextmanager
def connected(act: Callable[[socket.socket], None], timeout_s: float = 10.0) -> Iterator[RawConnection]:
    with peer(act) as address, RawConnection.open(address, timeout_s) as connection:
        yield connection


def until_closed(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def saying(data: bytes) -> Callable[[socket.socket], None]:
    return lambda connection: connection.sendall(data)


def test_response_in_pieces_is_assembled() -> None:
    def answer(connection: socket.socket) -> None:
        assert connection.recv(100) == b"\x00\x00\x00\x03abc"
        for piece in (b"\x00\x00", b"\x00\x05he", b"llo"):
            connection.sendall(piece)
        until_closed(connection)

    with connected(answer) as connection:
        assert connection.exchange(b"abc") == b"hello"


@pytest.mark.parametrize("sent", [b"", b"\x00\x00", b"\x00\x00\x00\x09half"])
def test_closed_connection_raises_closed_by_peer(sent: bytes) -> None:
    with connected(saying(sent)) as connection, pytest.raises(ClosedByPeer):
        connection.receive()


@pytest.mark.parametrize("sent", [b"", b"\x00\x00\x00\x09half"])
def test_no_response_raises_no_answer(sent: bytes) -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(sent)
        until_closed(connection)

    with connected(answer, timeout_s=0.05) as connection, pytest.raises(NoAnswer):
        connection.receive()


def test_impossible_length_raises_bad_frame() -> None:
    with connected(saying(b"HTTP")) as connection, pytest.raises(BadFrame):
        connection.receive()


def test_closing_is_observed() -> None:
    with connected(socket.socket.close) as connection:
        assert connection.closes()
    with connected(until_closed, timeout_s=0.05) as connection:
        assert not connection.closes()


def test_peer_that_responds_instead_of_closing_is_detected() -> None:
    with connected(saying(b"x")) as connection, pytest.raises(BadFrame):
        connection.closes()


def test_refused_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with pytest.raises(NotConnected), RawConnection.open(address):
        pass


@pytest.mark.real("java")
def test_kafka_answers_an_unknown_version_of_api_versions_in_version_0(apache_kafka: Kafka) -> None:
    """From version 3 on a header ends with tagged fields, without which Kafka cannot parse the request."""
    with RawConnection.open(apache_kafka.address) as connection:
        answer = connection.exchange(request(API_VERSIONS, 99, correlation=7) + b"\x00")
    correlation, error, count, key, least, most = struct.unpack(">ihihhh", answer)
    assert (correlation, error, count) == (7, UNSUPPORTED_VERSION, 1)
    assert (key, least, most) == (API_VERSIONS, 0, 4)


@pytest.mark.real("java")
@pytest.mark.parametrize(("key", "version"), [(999, 0), (3, 99)])
def test_kafka_closes_on_an_unknown_request(apache_kafka: Kafka, key: int, version: int) -> None:
    with RawConnection.open(apache_kafka.address) as connection:
        connection.send(request(key, version))
        assert connection.closes()


@pytest.mark.real("java")
def test_kafka_answers_in_the_order_of_requests(apache_kafka: Kafka) -> None:
    with RawConnection.open(apache_kafka.address) as connection:
        for correlation in range(3):
            connection.send(request(API_VERSIONS, 0, correlation))
        answers = [connection.receive() for _ in range(3)]
    assert [struct.unpack_from(">ih", answer) for answer in answers] == [(0, 0), (1, 0), (2, 0)]
