"""A listener on a real socket whose requests are echoed as a script says, and a client's view of it."""

import asyncio
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from msgspec import convert

from dray.api.exchange import CloseConnection, EncodedResponse, Finish, Peer
from dray.net import ListenerSpec, NetMetrics, NetSettings, SocketServer
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks

HOST = "127.0.0.1"


def framed(payload: bytes) -> bytes:
    return len(payload).to_bytes(4, "big") + payload


class Script:
    """Echoes frames; those that begin with `wait:` are answered when the test releases them."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.peers: list[Peer] = []
        self.held: dict[bytes, asyncio.Event] = {}
        self.begun_some = asyncio.Event()
        self.drained = False

    async def begin(self, frame: memoryview, peer: Peer) -> Finish:
        payload = bytes(frame)
        self.begun.append(payload)
        self.begun_some.set()
        assert peer.host == HOST
        self.peers.append(peer)
        if payload == b"bad":
            raise CloseConnection("it was bad")
        if payload == b"broken":
            raise RuntimeError("a fault of our own")
        return partial(self._answer, payload)

    async def _answer(self, payload: bytes) -> EncodedResponse:
        if payload.startswith(b"wait:"):
            await self.held.setdefault(payload, asyncio.Event()).wait()
        if payload == b"silent":
            return None
        return [len(payload).to_bytes(4, "big"), payload[:2], memoryview(payload)[2:]]

    def drain(self) -> None:
        self.drained = True

    async def until_begun(self, count: int) -> None:
        while len(self.begun) < count:
            self.begun_some.clear()
            await self.begun_some.wait()


def server_with(tasks: Tasks, settings: NetSettings) -> SocketServer:
    metrics = NetMetrics.on(Metrics())
    return SocketServer(settings=settings, clock=SystemClock(), tasks=tasks, metrics=metrics)


def settings_of(**limits: int | str) -> NetSettings:
    return convert(limits, NetSettings)


@asynccontextmanager
async def served(script: Script, **limits: int | str) -> AsyncIterator[tuple[SocketServer, int]]:
    tasks = Tasks()
    server = server_with(tasks, settings_of(**limits))
    port = await server.bind(ListenerSpec(HOST, 0))
    await server.serve(script)
    try:
        yield server, port
    finally:
        await server.stop()
        await tasks.stop()


async def read(reader: StreamReader) -> bytes:
    async with asyncio.timeout(5):
        size = int.from_bytes(await reader.readexactly(4), "big")
        return await reader.readexactly(size)


async def closed(reader: StreamReader) -> bool:
    """Whether the other end closes, whatever it sent before."""
    try:
        async with asyncio.timeout(5):
            return (await reader.read()) is not None
    except ConnectionError:
        return True


async def close(writer: StreamWriter) -> None:
    writer.close()
    try:
        await writer.wait_closed()
    except ConnectionError:
        return
