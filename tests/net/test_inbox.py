"""Many connections before one small broker: everything comes through, and no more is held than the bound."""

import asyncio
import random
from collections import deque

import pytest

from dray.net.frames import SCRATCH_BYTES
from dray.net.inbox import REQUEST_OVERHEAD_BYTES, Inbox
from dray.net.intake import ALLOWANCE_BYTES, Intake
from dray.net.settings import NetSettings

KIB = 1024
SCRATCH = memoryview(bytearray(SCRATCH_BYTES))


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Client:
    """What one client has to send, and what the broker has of it."""

    def __init__(self, intake: Intake, settings: NetSettings, frames: list[bytes]) -> None:
        self.inbox = Inbox(SCRATCH, settings, intake, lambda: None)
        self.came: list[bytes] = []
        self._sent = frames
        self._left = b"".join(map(framed, frames))
        self._begun: deque[int] = deque()

    def read(self, at_most: int) -> None:
        """Let something come, if the broker reads."""
        if self._left and self.inbox.may_read():
            room = self.inbox.room()
            count = min(len(room), len(self._left), at_most)
            room[:count] = self._left[:count]
            self._left = self._left[count:]
            self.inbox.received(count)
        while self.inbox.frames:
            frame = self.inbox.frames.popleft()
            self.came.append(bytes(frame))
            self._begun.append(len(frame))

    def answer(self) -> None:
        if self._begun:
            self.inbox.answered(self._begun.popleft())

    @property
    def done(self) -> bool:
        return self.came == self._sent and not self._begun


def sizes(chance: random.Random, largest: int) -> list[int]:
    kinds = (0, 30, 5 * KIB, 20 * KIB, 100 * KIB, largest)
    many = [0] * chance.choice([0, 0, 2000])
    return many + [chance.choice(kinds) for _ in range(chance.randrange(1, 8))]


@pytest.mark.parametrize("seed", range(8))
async def test_everything_comes_through_and_no_more_is_held_than_the_bound(seed: int) -> None:
    chance = random.Random(seed)
    limit, largest = chance.choice([64 * KIB, 512 * KIB, 4096 * KIB]), chance.choice([200 * KIB, 3000 * KIB])
    intake = Intake(limit)
    settings = NetSettings(in_flight_requests_max=chance.choice([1, 3, 256]), request_bytes_max=largest)
    clients = [
        Client(intake, settings, [chance.randbytes(size) for size in sizes(chance, largest)])
        for _ in range(chance.choice([1, 5, 30]))
    ]
    bound = limit + largest + len(clients) * (2 * ALLOWANCE_BYTES + REQUEST_OVERHEAD_BYTES)
    for _ in range(2_000):
        client = chance.choice(clients)
        client.read(chance.choice([1, 100, 10_000, SCRATCH_BYTES]))
        if chance.random() < 0.2:
            client.answer()
        assert intake.held <= bound
        await asyncio.sleep(0)
        if all(client.done for client in clients):
            break
    for _ in range(3_000):  # no more chance: whoever can be read is read, whatever has come is answered
        if all(client.done for client in clients):
            break
        for client in clients:
            client.read(SCRATCH_BYTES)
            client.answer()
        await asyncio.sleep(0)
    assert [client.came == client._sent for client in clients] == [True] * len(clients)
    for _ in clients:
        await asyncio.sleep(0)
    assert (intake.held, intake.waiting) == (0, 0)


async def test_half_requests_of_many_are_bounded_and_small_requests_pass_them() -> None:
    limit, largest = 1024 * KIB, 4096 * KIB
    intake, settings = Intake(limit), NetSettings(request_bytes_max=largest)
    halves = [Client(intake, settings, [bytes(largest)]) for _ in range(100)]
    for client in halves:
        client._left = client._left[: largest // 2]
    for _ in range(50):
        for client in halves:
            client.read(SCRATCH_BYTES)
        await asyncio.sleep(0)
    assert intake.held <= limit + largest + len(halves) * ALLOWANCE_BYTES
    assert intake.pressed
    honest = Client(intake, settings, [bytes(10 * KIB)])
    honest.read(SCRATCH_BYTES)
    assert honest.came == [bytes(10 * KIB)]


async def test_who_holds_others_up_is_found() -> None:
    mebi = 1024 * KIB
    intake, settings = Intake(64 * mebi), NetSettings(request_bytes_max=4 * mebi)
    drips, stream, none = (Client(intake, settings, [bytes(2 * mebi)]) for _ in range(3))
    for client in (drips, stream):
        client.read(100)
    assert [client.inbox.lags() for client in (drips, stream, none)] == [False] * 3, (
        "the first look only notes"
    )
    drips.read(100)
    for _ in range(4):  # its buffer grows as it is filled
        stream.read(SCRATCH_BYTES)
    assert [client.inbox.lags() for client in (drips, stream, none)] == [True, False, False]


async def test_tiny_requests_of_many_are_bounded_by_what_they_really_take() -> None:
    limit = 256 * KIB
    intake, settings = Intake(limit), NetSettings()
    clients = [Client(intake, settings, [b""] * 20_000) for _ in range(50)]
    for _ in range(20):
        for client in clients:
            client.read(SCRATCH_BYTES)
        await asyncio.sleep(0)
    assert sum(len(client.came) for client in clients) * REQUEST_OVERHEAD_BYTES <= intake.held
    assert intake.held <= limit + len(clients) * 3 * ALLOWANCE_BYTES


async def test_more_requests_than_may_wait_are_left_in_pieces() -> None:
    """Twenty thousand of 12 bytes in one read would be megabytes of objects."""
    intake, settings = Intake(64 * 1024 * KIB), NetSettings(in_flight_requests_max=10)
    client = Client(intake, settings, [b"12 bytes...."] * 10_000)
    client.read(SCRATCH_BYTES)
    assert len(client.came) == 20, "until more wait than may"
    assert not client.inbox.may_read()
    assert intake.held < SCRATCH_BYTES + 20 * (REQUEST_OVERHEAD_BYTES + 12)
    while not client.done:
        client.answer()
        client.read(SCRATCH_BYTES)
    assert intake.held == 0
