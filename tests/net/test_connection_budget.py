"""Many connections with little memory: every request is received, and the bound holds."""

import asyncio
import random
from collections import deque

import pytest

from dray.net.budget import CONNECTION_BYTES_MIN, BrokerBudget
from dray.net.connection_budget import REQUEST_OVERHEAD_BYTES, ConnectionBudget
from dray.net.frames import SCRATCH_BYTES
from dray.net.settings import NetSettings

KIB = 1024
SCRATCH = memoryview(bytearray(SCRATCH_BYTES))


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Client:
    """Frames that a client sends, and how far the broker has received them."""

    def __init__(self, broker: BrokerBudget, settings: NetSettings, frames: list[bytes]) -> None:
        self.budget = ConnectionBudget(broker, settings, scratch=SCRATCH, memory_free=lambda: None)
        self.received: list[bytes] = []
        self._sent = frames
        self._left = b"".join(map(framed, frames))
        self._begun: deque[int] = deque()

    def read(self, at_most: int) -> None:
        """Receive some bytes, if the broker reads."""
        if self._left and self.budget.may_read():
            buffer = self.budget.buffer()
            count = min(len(buffer), len(self._left), at_most)
            buffer[:count] = self._left[:count]
            self._left = self._left[count:]
            self.budget.received(count)
        while self.budget.frames:
            frame = self.budget.frames.popleft()
            self.received.append(bytes(frame))
            self._begun.append(len(frame))

    def answer(self) -> None:
        if self._begun:
            self.budget.answered(self._begun.popleft())

    @property
    def done(self) -> bool:
        return self.received == self._sent and not self._begun


def sizes(chance: random.Random, largest: int) -> list[int]:
    kinds = (0, 30, 5 * KIB, 20 * KIB, 100 * KIB, largest)
    many = [0] * chance.choice([0, 0, 2000])
    return many + [chance.choice(kinds) for _ in range(chance.randrange(1, 8))]


@pytest.mark.parametrize("seed", range(8))
async def test_every_request_is_received_and_memory_stays_bounded(seed: int) -> None:
    chance = random.Random(seed)
    limit, largest = chance.choice([64 * KIB, 512 * KIB, 4096 * KIB]), chance.choice([200 * KIB, 3000 * KIB])
    broker = BrokerBudget(limit)
    settings = NetSettings(
        in_flight_requests_max=chance.choice([1, 3, 256]), socket_request_max_bytes=largest
    )
    clients = [
        Client(broker, settings, [chance.randbytes(size) for size in sizes(chance, largest)])
        for _ in range(chance.choice([1, 5, 30]))
    ]
    bound = limit + largest + len(clients) * (2 * CONNECTION_BYTES_MIN + REQUEST_OVERHEAD_BYTES)
    for _ in range(2_000):
        client = chance.choice(clients)
        client.read(chance.choice([1, 100, 10_000, SCRATCH_BYTES]))
        if chance.random() < 0.2:
            client.answer()
        assert broker.used <= bound
        await asyncio.sleep(0)
        if all(client.done for client in clients):
            break
    for _ in range(3_000):  # from here on all connections are read and answered
        if all(client.done for client in clients):
            break
        for client in clients:
            client.read(SCRATCH_BYTES)
            client.answer()
        await asyncio.sleep(0)
    assert [client.received == client._sent for client in clients] == [True] * len(clients)
    for _ in clients:
        await asyncio.sleep(0)
    assert (broker.used, broker.waiting) == (0, 0)


async def test_partial_requests_are_bounded_and_small_requests_still_pass() -> None:
    limit, largest = 1024 * KIB, 4096 * KIB
    broker, settings = BrokerBudget(limit), NetSettings(socket_request_max_bytes=largest)
    partials = [Client(broker, settings, [bytes(largest)]) for _ in range(100)]
    for client in partials:
        client._left = client._left[: largest // 2]
    for _ in range(50):
        for client in partials:
            client.read(SCRATCH_BYTES)
        await asyncio.sleep(0)
    assert broker.used <= limit + largest + len(partials) * CONNECTION_BYTES_MIN
    assert broker.is_blocked
    honest = Client(broker, settings, [bytes(10 * KIB)])
    honest.read(SCRATCH_BYTES)
    assert honest.received == [bytes(10 * KIB)]


async def test_slow_sender_is_detected() -> None:
    mebi = 1024 * KIB
    broker, settings = BrokerBudget(64 * mebi), NetSettings(socket_request_max_bytes=4 * mebi)
    drips, stream, none = (Client(broker, settings, [bytes(2 * mebi)]) for _ in range(3))
    for client in (drips, stream):
        client.read(100)
    assert [client.budget.is_slow() for client in (drips, stream, none)] == [False] * 3, (
        "the first call only records"
    )
    drips.read(100)
    for _ in range(4):  # its buffer grows as it is filled
        stream.read(SCRATCH_BYTES)
    assert [client.budget.is_slow() for client in (drips, stream, none)] == [True, False, False]


async def test_tiny_requests_are_counted_with_their_overhead() -> None:
    limit = 256 * KIB
    broker, settings = BrokerBudget(limit), NetSettings()
    clients = [Client(broker, settings, [b""] * 20_000) for _ in range(50)]
    for _ in range(20):
        for client in clients:
            client.read(SCRATCH_BYTES)
        await asyncio.sleep(0)
    assert sum(len(client.received) for client in clients) * REQUEST_OVERHEAD_BYTES <= broker.used
    assert broker.used <= limit + len(clients) * 3 * CONNECTION_BYTES_MIN


async def test_requests_above_the_limit_in_flight_are_not_decoded() -> None:
    """Twenty thousand of 12 bytes in one read would be megabytes of objects."""
    broker, settings = BrokerBudget(64 * 1024 * KIB), NetSettings(in_flight_requests_max=10)
    client = Client(broker, settings, [b"12 bytes...."] * 10_000)
    client.read(SCRATCH_BYTES)
    assert len(client.received) == 20, "one decoding step beyond the limit"
    assert not client.budget.may_read()
    assert broker.used < SCRATCH_BYTES + 20 * (REQUEST_OVERHEAD_BYTES + 12)
    while not client.done:
        client.answer()
        client.read(SCRATCH_BYTES)
    assert broker.used == 0
