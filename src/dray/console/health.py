"""Whether the broker is alive, whether it can do its work, and what it has counted.

Alive means that the event loop answers. Ready means that both stores answer within a short time: each is
asked for something small, and what it says when it does not answer is shown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from dray.console.http import Page, Route
from dray.meta.port import MetaError
from dray.objects.port import ObjectError
from dray.observe import Metrics

_READY_SECONDS = 2.0

Check = Callable[[], Awaitable[object]]


def health_routes(checks: Mapping[str, Check], metrics: Metrics) -> dict[str, Route]:
    """Return the pages; `checks` are what must succeed for the broker to be ready, by name."""

    async def alive() -> Page:
        return Page(200, b"ok\n")

    async def ready() -> Page:
        said = {name: await _try(check) for name, check in checks.items()}
        body = "".join(f"{name}: {fault or 'ok'}\n" for name, fault in said.items())
        return Page(503 if any(said.values()) else 200, body.encode())

    async def counted() -> Page:
        return Page(200, metrics.render(), metrics.content_type)

    return {"/healthz": alive, "/readyz": ready, "/metrics": counted}


async def _try(check: Check) -> str | None:
    try:
        async with asyncio.timeout(_READY_SECONDS):
            await check()
    except TimeoutError:
        return f"no answer within {_READY_SECONDS:g} s"
    except (MetaError, ObjectError) as error:
        return str(error)
    return None
