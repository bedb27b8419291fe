"""Random bytes, partial frames, invalid lengths: the connection is closed, others are not affected."""

import gc
import random
import socket
import struct
from contextlib import suppress
from uuid import uuid4

import pytest

from dray.testing import EmbeddedBroker, broker
from tests.hostile.attacks import connected, framed, is_closed, resident_bytes, serves, until

MIB = 1 << 20


@pytest.mark.parametrize("length", [-1, -(2**31), 2**31 - 1, 2_000_001])
def test_invalid_lengths_close_the_connection_without_allocating(target: EmbeddedBroker, length: int) -> None:
    before = resident_bytes()
    for _ in range(20):
        with connected(target) as client:
            client.sendall(struct.pack(">i", length) + b"x" * 100)
            assert is_closed(client)
    assert resident_bytes() - before < 20 * MIB
    serves(target, uuid4().hex)


def test_empty_frame_closes_the_connection(target: EmbeddedBroker) -> None:
    with connected(target) as client:
        client.sendall(framed(b""))
        assert is_closed(client)


@pytest.mark.parametrize(
    "text", [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"]
)
def test_other_protocols_close_the_connection(target: EmbeddedBroker, text: bytes) -> None:
    with connected(target) as client:
        client.sendall(text)
        assert is_closed(client)


def test_random_frames_close_the_connection(target: EmbeddedBroker, caplog: pytest.LogCaptureFixture) -> None:
    chance = random.Random(4)
    for _ in range(300):
        with connected(target) as client:
            client.sendall(framed(chance.randbytes(chance.randrange(60))))
            assert is_closed(client)
    assert not [line for line in caplog.records if line.levelname in {"ERROR", "WARNING"}]
    serves(target, uuid4().hex)


def test_random_bodies_after_valid_headers_break_nothing(
    target: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """They may be answered, if they happen to be valid; nothing may break."""
    chance = random.Random(5)
    keys = [0, 1, 2, 3, 10, 18, 19, 20, 21, 22, 23, 32, 33, 35, 37, 43, 44, 46, 60, 61, 74, 75]
    for _ in range(400):
        head = struct.pack(">hhih", chance.choice(keys), chance.randrange(14), 1, -1)
        with connected(target) as client:
            client.settimeout(0.02)
            client.sendall(
                framed(head + b"\x00" * chance.randrange(2) + chance.randbytes(chance.randrange(40)))
            )
            _ignore_response(client)
    assert not [line for line in caplog.records if line.levelname == "ERROR"]
    serves(target, uuid4().hex)


def _ignore_response(client: socket.socket) -> None:
    with suppress(TimeoutError):
        is_closed(client)


def test_one_line_is_logged_for_a_closed_connection(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with broker() as alone, connected(alone) as client:
        client.sendall(framed(b"no request at all"))
        assert is_closed(client)
        port = client.getsockname()[1]
    mine = [line for line in caplog.records if f":{port}" in str(line.msg)]
    assert [line.levelname for line in mine] == ["INFO"]
    assert "connection_closed" in str(mine[0].msg)


def test_partial_frames_use_memory_in_proportion_and_release_it(target: EmbeddedBroker) -> None:
    before = resident_bytes()
    for _ in range(50):
        with connected(target) as client:
            client.sendall(struct.pack(">i", 1_900_000) + b"only the beginning")
    assert until(lambda: _growth(before) < 40 * MIB)
    serves(target, uuid4().hex)


def _growth(before: int) -> int:
    """Return the memory in use after a collection, which closed connections may wait for."""
    gc.collect()
    return resident_bytes() - before
