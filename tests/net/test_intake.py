"""The books of all connections: what each may always have, who waits, who comes first, what the bound is."""

import asyncio

from dray.net.intake import ALLOWANCE_BYTES, Account, Intake

KIB = 1024
LIMIT = 1024 * KIB
COMMON = LIMIT - LIMIT // 4


class Client:
    """One account, and what became of its waiting."""

    def __init__(self, intake: Intake) -> None:
        self.wanted = 0
        self.woken = 0
        self.account: Account = intake.open(self._wake)

    def _wake(self) -> bool:
        self.woken += 1
        return not self.wanted or self.account.claim(self.wanted)

    def wants(self, size: int) -> bool:
        """Claim, and stand in line if that is refused."""
        self.wanted = size
        granted = self.account.claim(size)
        if not granted:
            self.account.stand_in_line()
        return granted


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_who_is_alone_may_have_all_that_is_common() -> None:
    intake = Intake(LIMIT)
    one = Client(intake)
    assert one.account.left == COMMON
    one.account.add(COMMON)
    assert one.account.left <= 0
    assert intake.held == COMMON


def test_each_has_a_share_whatever_the_others_have() -> None:
    intake = Intake(LIMIT)
    greedy, *others = [Client(intake) for _ in range(4)]
    greedy.account.add(COMMON)
    for client in others:
        assert client.account.left == LIMIT // 4 // 4
        assert client.account.claim(LIMIT // 4 // 4)
        assert client.account.left <= 0


def test_each_has_an_allowance_however_many_there_are() -> None:
    intake = Intake(LIMIT)
    clients = [Client(intake) for _ in range(1000)]
    clients[0].account.add(COMMON)
    for client in clients[1:]:
        assert client.account.left == ALLOWANCE_BYTES
        client.account.add(ALLOWANCE_BYTES)
    assert intake.held == COMMON + 999 * ALLOWANCE_BYTES


async def test_first_come_first_served_and_nobody_overtakes() -> None:
    intake = Intake(LIMIT)
    busy, first, second, late = [Client(intake) for _ in range(4)]
    busy.account.add(COMMON - 100 * KIB)
    assert not first.wants(500 * KIB)
    assert not second.wants(200 * KIB)
    assert intake.waiting == 2
    assert late.account.left == LIMIT // 4 // 4, "there are 100 KiB of common room, but others wait for it"
    busy.account.release(150 * KIB)
    await settle()
    assert (first.account.partial, second.account.partial) == (0, 0)
    busy.account.release(250 * KIB)
    await settle()
    assert (first.account.partial, second.account.partial) == (500 * KIB, 0)
    first.account.hold(0)
    await settle()
    assert second.account.partial == 200 * KIB
    assert intake.waiting == 0


async def test_who_stands_by_is_woken_when_there_is_common_room_again() -> None:
    intake = Intake(LIMIT)
    busy, *others = [Client(intake) for _ in range(30)]
    busy.account.add(COMMON)
    for client in others:
        client.account.stand_by()
    await settle()
    assert not any(client.woken for client in others)
    busy.account.release(10 * KIB)
    await asyncio.sleep(0)
    assert sum(client.woken for client in others) == 1, "for little room few are woken at a time"
    for _ in others:
        await asyncio.sleep(0)
    assert [client.woken for client in others] == [1] * len(others)
    assert intake.waiting == 0


async def test_half_received_requests_do_not_lock_each_other_out() -> None:
    """One at a time goes beyond the limit, and the next when that one is done."""
    intake = Intake(LIMIT)
    clients = [Client(intake) for _ in range(12)]
    for client in clients:
        assert client.wants(64 * KIB), "a beginning"
    waiting = [client for client in clients if not client.wants(700 * KIB)]
    assert len(waiting) == 11, "the first was let in: without it nothing would ever move"
    await settle()
    assert sum(client.account.partial == 700 * KIB for client in clients) == 1
    for client in clients:
        assert client.account.partial == 700 * KIB, "its turn has come"
        client.account.add(700 * KIB)
        client.account.hold(0)
        await settle()
        assert intake.held <= LIMIT + 700 * KIB
        client.account.release(700 * KIB)
        await settle()
    assert (intake.held, intake.waiting) == (0, 0)


async def test_requests_that_will_be_answered_are_waited_for() -> None:
    intake = Intake(LIMIT)
    busy, one = Client(intake), Client(intake)
    busy.account.add(COMMON)
    assert not one.wants(300 * KIB)
    await settle()
    assert one.account.partial == 0
    busy.account.release(COMMON)
    await settle()
    assert one.account.partial == 300 * KIB


async def test_who_goes_gives_everything_back_and_leaves_the_line() -> None:
    intake = Intake(LIMIT)
    busy, first, second = [Client(intake) for _ in range(3)]
    busy.account.add(COMMON)
    assert not first.wants(600 * KIB)
    assert not second.wants(500 * KIB)
    first.account.close()
    busy.account.close()
    await settle()
    assert second.account.partial == 500 * KIB
    second.account.close()
    assert (intake.held, intake.waiting) == (0, 0)
    assert Client(intake).account.left == COMMON


def test_pressed_is_who_waits_because_of_halves() -> None:
    intake = Intake(LIMIT)
    busy, half, one = [Client(intake) for _ in range(3)]
    busy.account.add(COMMON)
    one.account.stand_by()
    assert not intake.pressed, "what has come whole is on its way"
    busy.account.requests = 0
    half.account.hold(LIMIT // 4)
    assert intake.pressed
