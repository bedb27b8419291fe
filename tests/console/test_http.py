"""HTTP endpoints of a broker, as seen by a browser, a probe and a hostile client."""

import asyncio
import http.client
from collections.abc import AsyncIterator
from contextlib import suppress

import pytest

from dray.console import Page, health_routes
from dray.meta.port import Unavailable
from dray.observe import Metrics
from tests.console.serving import HOST as _HOST
from tests.console.serving import serving
from tests.net.tls_serving import until


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
    async with serving(health_routes({"metadata": store.check}, metrics)) as (_, port):
        yield port


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


async def test_stop_closes_connections_that_wait_for_a_request() -> None:
    async with serving({"/": healthy}) as (server, port):
        waiting, writer = await asyncio.open_connection(_HOST, port)
        await asyncio.to_thread(_get, port, "/")
        began = asyncio.get_running_loop().time()
        await server.stop()
        assert asyncio.get_running_loop().time() - began < 1
        with suppress(ConnectionError):
            assert await waiting.read() == b""
        writer.close()


async def test_stop_completes_the_response_to_a_request() -> None:
    begun, finish = asyncio.Event(), asyncio.Event()

    async def slow() -> Page:
        begun.set()
        await finish.wait()
        return Page(200, b"done\n")

    async with serving({"/": slow}) as (server, port):
        asked = asyncio.create_task(asyncio.to_thread(_get, port, "/"))
        await begun.wait()
        stopping = asyncio.create_task(server.stop())
        await asyncio.sleep(0)
        finish.set()
        await stopping
        assert await asked == [(200, "done\n")]


async def healthy() -> Page:
    return Page(200, b"ok\n")


async def test_connections_above_the_limit_are_closed() -> None:
    metrics = Metrics()

    def open_connections() -> float | None:
        return metrics.registry.get_sample_value("dray_net_open_connections", {"listener": "http"})

    async with serving({"/": healthy}, metrics=metrics) as (_, port):
        opened = [await asyncio.open_connection(_HOST, port) for _ in range(257)]
        reader, _ = opened[-1]
        assert await reader.read() == b""
        assert open_connections() == 256
        for _, writer in opened:
            writer.close()
        await until(lambda: open_connections() == 0)
        assert await asyncio.to_thread(_get, port, "/") == [(200, "ok\n")]
