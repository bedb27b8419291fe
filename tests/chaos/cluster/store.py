"""Object store node: SeaweedFS after a proxy that rejects and delays requests.

`python -m tests.chaos.cluster.store HOME SEED` serves until it is killed. The proxy reads its orders from
`HOME/orders.json` before each request, so that they can change at any time. A rejected request gets what S3
sends when it is throttled: 503 and SlowDown.
"""

import asyncio
import json
import re
import sys
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from dray.testing import seaweedfs
from tests.chaos.cluster.topology import NODES, STORE, STORE_PORT

BUCKET: Final = "dray"
_CHUNK: Final = 1 << 18
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_BODY: Final = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
_REJECTION: Final = b"\r\n".join(
    [
        b"HTTP/1.1 503 Slow Down",
        b"Content-Type: application/xml",
        b"Content-Length: %d" % len(_BODY),
        b"",
        _BODY,
    ]
)


class Orders(NamedTuple):
    """What happens to the next requests."""

    rejected: float = 0.0
    """The probability that a request is rejected."""
    delay_s: float = 0.0
    closed: bool = False
    """Whether connections are closed instead."""


def give(home: Path, orders: Orders) -> None:
    draft = home / "orders.draft"
    draft.write_text(json.dumps(orders._asdict()))
    draft.rename(home / "orders.json")  # atomically: the proxy must not read half of it


class ThrottlingProxy:
    """Passes connections on to the server, one request after the other."""

    def __init__(self, home: Path, target: str, seed: int) -> None:
        self._path = home / "orders.json"
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self._random = Random(seed)

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(self._host, self._port)
            try:
                await _Connection(reader, writer, server_reader, server_writer).carry(self)
            finally:
                server_writer.close()
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # the client sees that its connection has ended
        finally:
            writer.close()

    async def rejects_next(self) -> bool:
        """Whether to reject the next request, after its delay."""
        orders = Orders(**json.loads(self._path.read_text()))
        if orders.closed:
            raise ConnectionAbortedError
        if orders.delay_s:
            await asyncio.sleep(orders.delay_s)
        return self._random.random() < orders.rejected


class _Connection:
    """A client's connection, and the one to the server that belongs to it."""

    def __init__(
        self,
        client: asyncio.StreamReader,
        to_client: asyncio.StreamWriter,
        server: asyncio.StreamReader,
        to_server: asyncio.StreamWriter,
    ) -> None:
        self._client = client
        self._to_client = to_client
        self._server = server
        self._to_server = to_server

    async def carry(self, proxy: ThrottlingProxy) -> None:
        responses = asyncio.create_task(self._responses())
        try:
            while not responses.done():
                await self._request(await self._client.readuntil(b"\r\n\r\n"), proxy)
        finally:
            responses.cancel()

    async def _request(self, head: bytes, proxy: ThrottlingProxy) -> None:
        """Pass a request on, or read it to its end and reject it."""
        found = _LENGTH.search(head)
        left, rejected = int(found[1]) if found else 0, await proxy.rejects_next()
        if not rejected:
            self._to_server.write(head)
        while left:
            body = await self._client.read(min(left, _CHUNK))
            if not body:
                raise asyncio.IncompleteReadError(body, left)
            left -= len(body)
            if not rejected:
                self._to_server.write(body)
                await self._to_server.drain()
        if rejected:
            self._to_client.write(_REJECTION)

    async def _responses(self) -> None:
        """Pass responses on; a client sends its next request only when it has the last response."""
        while data := await self._server.read(_CHUNK):
            self._to_client.write(data)
            await self._to_client.drain()
        self._to_client.close()


async def _serve(home: Path, server: seaweedfs.SeaweedFS, seed: int) -> None:
    proxy = ThrottlingProxy(home, server.endpoint.removeprefix("http://"), seed)
    listening = await asyncio.start_server(proxy.accept, NODES[STORE].address, STORE_PORT, limit=_CHUNK)
    async with listening:
        await listening.serve_forever()


def main() -> None:
    home, seed = Path(sys.argv[1]), int(sys.argv[2])
    give(home, Orders())
    files = home / "seaweedfs"
    files.mkdir()
    with seaweedfs.serve(files) as server:
        server.make_bucket(BUCKET)
        asyncio.run(_serve(home, server, seed))


if __name__ == "__main__":
    main()
