"""Reads over the port for its users: paged scans, and watches that survive an unavailable store."""

from collections.abc import AsyncIterator, Awaitable, Callable

from dray.ids import Domain
from dray.meta.port import ChangeBatch, Entry, MetaError, MetaStore, Position, Watch
from dray.observe import get_logger
from dray.runtime import Clock

_PAGE = 256
_RETRY_SECONDS = 0.2
_log = get_logger("meta")

Take = Callable[[ChangeBatch, bool], Awaitable[None]]
"""Receives changes, and whether others may have been missed before them."""


async def scan_all(
    meta: MetaStore, domain: Domain, bounds: tuple[str, str], page_size: int = _PAGE
) -> AsyncIterator[Entry]:
    """Yield every key of the range, page by page; a concurrent change may be missed or included."""
    start, end = bounds
    while True:
        page = await meta.scan(domain, start, end, limit=page_size)
        for found in page:
            yield found
        if len(page) < page_size:
            return
        start = page[-1].key + "\0"


async def follow(
    meta: MetaStore,
    domain: Domain,
    prefix: str,
    clock: Clock,
    *,
    take: Take,
    lost: Callable[[], None],
    opened: Callable[[Watch], None] | None = None,
) -> None:
    """Pass every change of the keys that start with `prefix` to `take`; never returns.

    A watch breaks when the store is unavailable. Then `lost` is called; once the watch works again, `take` is
    called with a flag that changes may have been missed, so that the follower reads again what it needs.
    `opened` gets every new watch.
    """
    after: Position | None = None
    while True:
        restarted = True
        try:
            async with meta.watch(domain, prefix, after) as batches:
                if opened is not None:
                    opened(batches)
                async for batch in batches:
                    await take(batch, restarted or batch.gap)
                    restarted, after = False, batch.position
        except MetaError as error:
            _log.warning("watch_broken", domain=domain, prefix=prefix, error=str(error))
        finally:
            lost()
        await clock.sleep(_RETRY_SECONDS)
