"""An HTTP endpoint on a free port."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from dray.console import HttpServer, Route
from dray.net import ListenerTls, NetMetrics
from dray.observe import Metrics
from dray.runtime import SystemClock, Tasks

HOST = "127.0.0.1"


@asynccontextmanager
async def serving(
    routes: Mapping[str, Route], tls: ListenerTls | None = None, metrics: Metrics | None = None
) -> AsyncIterator[tuple[HttpServer, int]]:
    """Serve until the block ends; yields the server and its port."""
    tasks, counted = Tasks(), NetMetrics.on(metrics or Metrics())
    server = HttpServer(routes, clock=SystemClock(), tasks=tasks, metrics=counted)
    try:
        yield server, await server.start(HOST, 0, tls)
    finally:
        await server.stop()
        await tasks.stop()
        assert not tasks.failures
