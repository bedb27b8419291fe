"""Health, readiness and metrics endpoints.

A broker is healthy if its event loop responds. It is ready if a small request to each store succeeds within a
short time; otherwise the response has the store's error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from dray.console.http import Route
from dray.console.page import Page
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import Metrics

_READY_SECONDS = 2.0

Check = Callable[[], Awaitable[object]]


def health_routes(checks: Mapping[str, Check], metrics: Metrics) -> dict[str, Route]:
    """Return the routes; a broker is ready when all `checks` succeed."""

    async def healthy() -> Page:
        return Page(200, b"ok\n")

    async def ready() -> Page:
        errors = {name: await _error_of(check) for name, check in checks.items()}
        body = "".join(f"{name}: {error or 'ok'}\n" for name, error in errors.items())
        return Page(503 if any(errors.values()) else 200, body.encode())

    async def scrape() -> Page:
        return Page(200, metrics.render(), metrics.content_type)

    return {"/healthz": healthy, "/readyz": ready, "/metrics": scrape}


async def _error_of(check: Check) -> str | None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await check()
    except TimeoutError:
        return f"no response within {_READY_SECONDS:g} s"
    except (MetaError, ObjectError) as error:
        return str(error)
    return None
