"""Several listeners of one server: names, limits when accepting, and what stands before the requests."""

import asyncio
import errno
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from dray.api.exchange import CloseConnection, Finish, Peer
from dray.ids import USER, Principal
from dray.net import Begin, Channel, Gate, ListenerSpec, NetMetrics, SocketServer
from dray.net.limits import RateOf, unlimited
from dray.observe import Metrics
from dray.quotas import AddressShare
from dray.runtime import SystemClock, Tasks
from tests.net.serving import HOST, Script, close, closed, framed, read, settings_of

ALICE = Principal(USER, "alice")
LOGIN_BYTES_MAX = 100


class Login:
    """A gate whose first request is a name, of at most 100 bytes."""

    def __init__(self, channel: Channel, begin: Begin) -> None:
        self._channel = channel
        self._begin = begin
        self._done = False
        channel.limit_request(LOGIN_BYTES_MAX)

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        if self._done:
            return await self._begin(frame, peer)
        if bytes(frame) == b"mallory":
            raise CloseConnection("unknown user")
        self._done = True
        self._channel.peer = peer._replace(principal=Principal(USER, bytes(frame).decode()))
        self._channel.limit_request(None)
        return self._welcome

    async def _welcome(self) -> list[bytes]:
        return [framed(b"welcome")]


def login(channel: Channel, begin: Begin) -> Begin:
    return Login(channel, begin).begin


class Served:
    """A server, its metrics, and the port of each listener."""

    def __init__(self, server: SocketServer, metrics: Metrics, ports: Mapping[str, int]) -> None:
        self.server = server
        self.ports = ports
        self._metrics = metrics

    def value(self, name: str, **labels: str) -> float:
        return self._metrics.registry.get_sample_value(f"dray_net_{name}", labels) or 0.0


@asynccontextmanager
async def served(
    script: Script, gates: Mapping[str, Gate | None], rate_of: RateOf = unlimited, **limits: int | str
) -> AsyncIterator[Served]:
    tasks, metrics = Tasks(), Metrics()
    server = SocketServer(
        settings=settings_of(**limits),
        clock=SystemClock(),
        tasks=tasks,
        metrics=NetMetrics.on(metrics),
    )
    specs = [ListenerSpec(HOST, 0, name, gate=gate) for name, gate in gates.items()]
    ports = {spec.name: await server.bind(spec) for spec in specs}
    server.limit_addresses(rate_of)
    await server.serve(script)
    try:
        yield Served(server, metrics, ports)
    finally:
        await server.stop()
        await tasks.stop()


async def exchange(port: int, *payloads: bytes) -> list[bytes]:
    """Send requests one after the other over a connection; returns the responses."""
    reader, writer = await asyncio.open_connection(HOST, port)
    found = []
    for payload in payloads:
        writer.write(framed(payload))
        found.append(await read(reader))
    await close(writer)
    return found


async def test_peer_has_the_name_of_its_listener_and_each_listener_counts_its_connections() -> None:
    script = Script()
    async with served(script, {"IN": None, "OUT": None}) as target:
        reader, writer = await asyncio.open_connection(HOST, target.ports["OUT"])
        writer.write(framed(b"hello"))
        assert await read(reader) == b"hello"
        assert await exchange(target.ports["IN"], b"hi") == [b"hi"]
        assert [peer.listener for peer in script.peers] == ["OUT", "IN"]
        assert target.value("open_connections", listener="OUT") == 1
        await close(writer)


async def test_gate_stands_before_the_requests_of_its_listener_only() -> None:
    script = Script()
    async with served(script, {"IN": None, "OUT": login}) as target:
        assert await exchange(target.ports["OUT"], b"alice", b"x" * 5_000) == [b"welcome", b"x" * 5_000]
        assert await exchange(target.ports["IN"], b"alice") == [b"alice"]
        assert [(peer.listener, peer.principal) for peer in script.peers[:1]] == [("OUT", ALICE)]
        assert script.begun == [b"x" * 5_000, b"alice"]


@pytest.mark.parametrize("first", [b"mallory", b"a" * (LOGIN_BYTES_MAX + 1)])
async def test_gate_can_refuse_a_client_and_limits_its_first_request(first: bytes) -> None:
    script = Script()
    async with served(script, {"OUT": login}) as target:
        reader, writer = await asyncio.open_connection(HOST, target.ports["OUT"])
        writer.write(framed(first))
        assert await closed(reader)
        await close(writer)
        assert script.begun == []


async def test_connections_of_one_listener_leave_those_of_another_their_place() -> None:
    gates = dict.fromkeys(("IN", "OUT"))
    async with served(Script(), gates, connections_per_listener_max="OUT:1") as target:
        first, writer = await asyncio.open_connection(HOST, target.ports["OUT"])
        writer.write(framed(b"hello"))
        assert await read(first) == b"hello"
        second, other = await asyncio.open_connection(HOST, target.ports["OUT"])
        assert await closed(second)
        assert await exchange(target.ports["IN"], b"hi") == [b"hi"]
        assert target.value("closed_connections_total", cause="too_many") == 1
        await close(writer)
        await close(other)
        async with asyncio.timeout(5):
            while target.value("open_connections", listener="OUT"):  # noqa: ASYNC110
                await asyncio.sleep(0)
        assert await exchange(target.ports["OUT"], b"hello") == [b"hello"]


async def test_connections_above_the_rate_wait_and_are_all_served() -> None:
    async with served(Script(), {"IN": None}, connection_rate_max=20) as target:
        began = asyncio.get_running_loop().time()
        found = await asyncio.gather(*(exchange(target.ports["IN"], b"hi") for _ in range(26)))
        assert found == [[b"hi"]] * 26
        assert asyncio.get_running_loop().time() - began >= 5 / 20


async def test_address_that_connects_too_often_is_held_and_closed() -> None:
    async with served(Script(), {"IN": None}, {HOST: AddressShare(HOST, 0.5)}.get) as target:
        assert await exchange(target.ports["IN"], b"hi") == [b"hi"]
        began = asyncio.get_running_loop().time()
        reader, writer = await asyncio.open_connection(HOST, target.ports["IN"])
        assert await closed(reader)
        assert asyncio.get_running_loop().time() - began >= 0.3
        assert target.value("closed_connections_total", cause="too_fast") == 1
        await close(writer)


async def test_client_that_does_not_authenticate_in_time_is_closed() -> None:
    async with served(Script(), {"IN": login, "OUT": None}, authentication_timeout_ms=1000) as target:
        late, late_writer = await asyncio.open_connection(HOST, target.ports["IN"])
        known, known_writer = await asyncio.open_connection(HOST, target.ports["IN"])
        other, other_writer = await asyncio.open_connection(HOST, target.ports["OUT"])
        known_writer.write(framed(b"alice"))
        assert await read(known) == b"welcome"
        assert await closed(late)
        for reader, writer in ((known, known_writer), (other, other_writer)):
            writer.write(framed(b"hello"))
            assert await read(reader) == b"hello"
        assert target.value("closed_connections_total", cause="unauthenticated") == 1
        for writer in (late_writer, known_writer, other_writer):
            await close(writer)


class Exhausted:
    """A listening socket that cannot accept, because this process has too many open files."""

    def accept(self) -> None:
        raise OSError(errno.EMFILE, "too many open files")


async def test_exhausted_descriptors_delay_connections_but_do_not_end_the_listener(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dray.net.listener._EXHAUSTED_SECONDS", 0.1)
    async with served(Script(), {"IN": None}) as target:
        listener = target.server._listeners["IN"]
        listener._accept_some(Exhausted())  # type: ignore[arg-type]
        assert not listener._accepting
        assert await exchange(target.ports["IN"], b"hi") == [b"hi"]
        assert listener._accepting
