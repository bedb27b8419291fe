"""HTTP endpoints of a broker, as seen by a browser, a probe and a hostile client."""

import asyncio
import http.client
from collections.abc import AsyncIterator

import pytest

from dray.console import HttpServer, health_routes
from dray.meta.port import Unavailable
from dray.observe import Metrics

_HOST = "127.0.0.1"


class _Store:
    """A store whose health check succeeds or fails."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    async def check(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.fixture
def store() -> _Store:
    return _Store()


@pytest.fixture
async def port(store: _Store) -> AsyncIterator[int]:
    metrics = Metrics()
    metrics.package("test").counter("things", "Things counted.").inc(3)
    server = HttpServer(health_routes({"metadata": store.check}, metrics))
    yield await server.start(_HOST, 0)
    await server.stop()


def _get(port: int, *paths: str, method: str = "GET") -> list[tuple[int, str]]:
    connection = http.client.HTTPConnection(_HOST, port, timeout=5)
    answers = []
    for path in paths:
        connection.request(method, path)
        response = connection.getresponse()
        answers.append((response.status, response.read().decode()))
    connection.close()
    return answers


async def test_healthz_is_ok_while_the_event_loop_runs(port: int) -> None:
    assert await asyncio.to_thread(_get, port, "/healthz", "/healthz?x=1") == [(200, "ok\n")] * 2


async def test_readyz_fails_with_the_error_of_a_store(port: int, store: _Store) -> None:
    assert await asyncio.to_thread(_get, port, "/readyz") == [(200, "metadata: ok\n")]
    store.error = Unavailable("the store is away")
    assert await asyncio.to_thread(_get, port, "/readyz") == [(503, "metadata: the store is away\n")]


async def test_metrics_are_rendered(port: int) -> None:
    ((status, body),) = await asyncio.to_thread(_get, port, "/metrics")
    assert status == 200
    assert "dray_test_things_total 3.0" in body


async def test_unknown_paths_list_the_known_ones_and_other_methods_are_refused(port: int) -> None:
    ((status, body),) = await asyncio.to_thread(_get, port, "/nothing")
    assert (status, "/healthz" in body) == (404, True)
    ((status, _),) = await asyncio.to_thread(_get, port, "/healthz", method="POST")
    assert status == 405


@pytest.mark.parametrize("malformed", [b"\x00\x01\x02\x03 nonsense\r\n\r\n", b"GET", b"x" * 100_000])
async def test_malformed_requests_close_only_their_connection(port: int, malformed: bytes) -> None:
    reader, writer = await asyncio.open_connection(_HOST, port)
    writer.write(malformed)
    writer.write_eof()
    async with asyncio.timeout(5):
        await reader.read()
    writer.close()
    assert await asyncio.to_thread(_get, port, "/healthz") == [(200, "ok\n")]


async def test_connections_above_the_limit_are_closed(port: int) -> None:
    opened = [await asyncio.open_connection(_HOST, port) for _ in range(257)]
    reader, _ = opened[-1]
    assert await reader.read() == b""
    for _, writer in opened:
        writer.close()
    for _, writer in opened[:-1]:
        await writer.wait_closed()
    assert await asyncio.to_thread(_get, port, "/healthz") == [(200, "ok\n")]
