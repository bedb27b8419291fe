"""Memory of all connections: guaranteed shares, the order of claims, the bound."""

import asyncio

from dray.net.budget import CONNECTION_BYTES_MIN, BrokerBudget
from dray.net.connection_budget import ConnectionBudget
from dray.net.settings import NetSettings

KIB = 1024
LIMIT = 1024 * KIB
SHARED = LIMIT - LIMIT // 4


class Client(ConnectionBudget):
    """A connection whose test claims memory in place of its decoder."""

    def __init__(self, broker: BrokerBudget) -> None:
        super().__init__(broker, NetSettings(), scratch=memoryview(b""), memory_free=lambda: None)
        self.wanted = 0
        self.resumed = 0

    def resume(self) -> bool:
        self.resumed += 1
        return not self.wanted or self.claim(self.wanted)

    def wants(self, size: int) -> bool:
        """Claim memory, and queue the claim if it is refused."""
        self.wanted = size
        granted = self.claim(size)
        if not granted:
            self._broker.queue_claim(self)
        return granted


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_single_connection_may_use_all_shared_memory() -> None:
    broker = BrokerBudget(LIMIT)
    one = Client(broker)
    assert broker.available(one) == SHARED
    one.add(SHARED)
    assert broker.available(one) <= 0
    assert broker.used == SHARED


def test_each_connection_has_a_share_whatever_the_others_use() -> None:
    broker = BrokerBudget(LIMIT)
    greedy, *others = [Client(broker) for _ in range(4)]
    greedy.add(SHARED)
    for client in others:
        assert broker.available(client) == LIMIT // 4 // 4
        assert client.claim(LIMIT // 4 // 4)
        assert broker.available(client) <= 0


def test_each_connection_has_a_minimum_however_many_there_are() -> None:
    broker = BrokerBudget(LIMIT)
    clients = [Client(broker) for _ in range(1000)]
    clients[0].add(SHARED)
    for client in clients[1:]:
        assert broker.available(client) == CONNECTION_BYTES_MIN
        client.add(CONNECTION_BYTES_MIN)
    assert broker.used == SHARED + 999 * CONNECTION_BYTES_MIN


async def test_claims_are_granted_in_order() -> None:
    broker = BrokerBudget(LIMIT)
    busy, first, second, late = [Client(broker) for _ in range(4)]
    busy.add(SHARED - 100 * KIB)
    assert not first.wants(500 * KIB)
    assert not second.wants(200 * KIB)
    assert broker.waiting == 2
    assert broker.available(late) == LIMIT // 4 // 4, (
        "100 KiB of shared memory are free, but others wait for it"
    )
    busy.release(150 * KIB)
    await settle()
    assert (first.partial, second.partial) == (0, 0)
    busy.release(250 * KIB)
    await settle()
    assert (first.partial, second.partial) == (500 * KIB, 0)
    first.set_partial(0)
    await settle()
    assert second.partial == 200 * KIB
    assert broker.waiting == 0


async def test_paused_connections_are_resumed_when_shared_memory_is_free() -> None:
    broker = BrokerBudget(LIMIT)
    busy, *others = [Client(broker) for _ in range(30)]
    busy.add(SHARED)
    for client in others:
        broker.pause(client)
    await settle()
    assert not any(client.resumed for client in others)
    busy.release(10 * KIB)
    await asyncio.sleep(0)
    assert sum(client.resumed for client in others) == 1, "for little memory few are resumed at a time"
    for _ in others:
        await asyncio.sleep(0)
    assert [client.resumed for client in others] == [1] * len(others)
    assert broker.waiting == 0


async def test_partial_requests_do_not_deadlock() -> None:
    """One at a time may exceed the limit, and the next one when it is done."""
    broker = BrokerBudget(LIMIT)
    clients = [Client(broker) for _ in range(12)]
    for client in clients:
        assert client.wants(64 * KIB), "the first claims fit"
    waiting = [client for client in clients if not client.wants(700 * KIB)]
    assert len(waiting) == 11, "the first may exceed the limit: otherwise none could continue"
    await settle()
    assert sum(client.partial == 700 * KIB for client in clients) == 1
    for client in clients:
        assert client.partial == 700 * KIB, "the claims are granted one after the other"
        client.add(700 * KIB)
        client.set_partial(0)
        await settle()
        assert broker.used <= LIMIT + 700 * KIB
        client.release(700 * KIB)
        await settle()
    assert (broker.used, broker.waiting) == (0, 0)


async def test_claim_waits_for_complete_requests_to_be_answered() -> None:
    broker = BrokerBudget(LIMIT)
    busy, one = Client(broker), Client(broker)
    busy.add(SHARED)
    assert not one.wants(300 * KIB)
    await settle()
    assert one.partial == 0
    busy.release(SHARED)
    await settle()
    assert one.partial == 300 * KIB


async def test_closed_connection_frees_its_memory_and_leaves_the_queue() -> None:
    broker = BrokerBudget(LIMIT)
    busy, first, second = [Client(broker) for _ in range(3)]
    busy.add(SHARED)
    assert not first.wants(600 * KIB)
    assert not second.wants(500 * KIB)
    first.close()
    busy.close()
    await settle()
    assert second.partial == 500 * KIB
    second.close()
    assert (broker.used, broker.waiting) == (0, 0)
    assert broker.available(Client(broker)) == SHARED


def test_budget_is_blocked_while_connections_wait_for_partial_requests() -> None:
    broker = BrokerBudget(LIMIT)
    busy, partial, one = [Client(broker) for _ in range(3)]
    busy.add(SHARED)
    broker.pause(one)
    assert not broker.is_blocked, "complete requests will be answered"
    busy.requests = 0
    partial.set_partial(LIMIT // 4)
    assert broker.is_blocked
