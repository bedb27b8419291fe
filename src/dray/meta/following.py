"""Following keys for as long as the process lives, whatever becomes of the watch.

A watch breaks when the store is away. Then whoever follows is told that it is lost, and when it is on again
that something may have been missed: read anew what matters.
"""

from collections.abc import Awaitable, Callable

from dray.meta.port import ChangeBatch, Domain, MetaError, MetaStore, Position
from dray.observe import get_logger
from dray.runtime import Clock

_RETRY_SECONDS = 0.2
_log = get_logger("meta")

Take = Callable[[ChangeBatch, bool], Awaitable[None]]
"""Given changes, and whether others may have been missed before them."""


async def follow(
    meta: MetaStore, domain: Domain, prefix: str, clock: Clock, *, take: Take, lost: Callable[[], None]
) -> None:
    """Hand every change of the keys that start with `prefix` to `take`; never returns."""
    after: Position | None = None
    while True:
        anew = True
        try:
            async with meta.watch(domain, prefix, after) as batches:
                async for batch in batches:
                    await take(batch, anew or batch.gap)
                    anew, after = False, batch.position
        except MetaError as error:
            _log.warning("watch_broken", domain=domain, prefix=prefix, error=str(error))
        finally:
            lost()
        await clock.sleep(_RETRY_SECONDS)
