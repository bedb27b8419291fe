"""A TCP proxy that breaks connections in the middle of requests and responses.

Each connection passes a number of chunks of requests, then breaks; `fault` says how:

- `request lost`: what the client sends no longer reaches the server.
- `response lost`: the server receives everything, but the client does not receive the response.
- `response cut`: the client receives a part of the next response.
- `late`: what the client sends reaches the server a while after the client's side was broken.
"""

import asyncio
import random
from typing import Final

FAULTS: Final = ("request lost", "response lost", "response cut", "late")
_CHUNK: Final = 65_536


class CuttingProxy:
    """Listens on a free port and connects to one address."""

    def __init__(
        self, target: str, seed: int, *, chunks: tuple[int, int], late_s: tuple[float, float]
    ) -> None:
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._random = random.Random(seed)
        self._chunks = chunks
        self._late_s = late_s
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.faults: list[str] = []
        self.harmless = False
        """Pass everything from now on."""
        self._blocked = False

    async def __aenter__(self) -> "CuttingProxy":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def address(self) -> str:
        assert self._server is not None
        return f"127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def block(self) -> None:
        """Break all connections, and accept no other one."""
        self._blocked = True
        for task in self._connections:
            task.cancel()

    def unblock(self) -> None:
        self._blocked = False

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if self._blocked:
            writer.close()
            return
        self._connections.add(task)
        try:
            server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
            try:
                await self._carry(reader, writer, server_reader, server_writer)
            finally:
                server_writer.close()
        except OSError:
            pass
        finally:
            writer.close()
            self._connections.discard(task)

    async def _carry(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        link = _Link(to_client, to_server, self._random.choice(FAULTS), self._random.randint(*self._chunks))
        link.late_s = self._random.uniform(*self._late_s)
        async with asyncio.TaskGroup() as group:
            upward = group.create_task(self._requests(client, link))
            downward = group.create_task(self._responses(server, link))
            await link.broken.wait()
            to_client.close()
            await upward
            downward.cancel()

    async def _requests(self, client: asyncio.StreamReader, link: "_Link") -> None:
        while data := await _read(client):
            link.left -= 1
            if link.left > 0 or self.harmless:
                link.to_server.write(data)
                continue
            if link.left == 0:
                self.faults.append(link.fault)
            if link.fault == "late":
                link.broken.set()
                await asyncio.sleep(link.late_s)
            if link.fault != "request lost":
                link.to_server.write(data)
                await asyncio.sleep(0.02 if link.fault == "response lost" else 0)
            if link.fault != "response cut":
                break
            link.cutting = True
        link.broken.set()

    async def _responses(self, server: asyncio.StreamReader, link: "_Link") -> None:
        while data := await _read(server):
            if link.cutting:
                link.to_client.write(data[: self._random.randrange(len(data))])
                await asyncio.sleep(0.01)
                break
            if link.left > 0 or self.harmless:
                link.to_client.write(data)
        link.broken.set()


class _Link:
    """The state of one connection."""

    def __init__(
        self, to_client: asyncio.StreamWriter, to_server: asyncio.StreamWriter, fault: str, left: int
    ) -> None:
        self.to_client = to_client
        self.to_server = to_server
        self.fault = fault
        self.left = left
        """Chunks of requests before the fault."""
        self.late_s = 0.0
        self.cutting = False
        self.broken = asyncio.Event()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_CHUNK)
    except OSError:
        return b""
