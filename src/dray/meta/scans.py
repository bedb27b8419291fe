"""Going through a long range of keys, page by page."""

from collections.abc import AsyncIterator

from dray.meta.port import Domain, Entry, MetaStore

_PAGE = 256


async def scan_all(
    meta: MetaStore, domain: Domain, bounds: tuple[str, str], page_size: int = _PAGE
) -> AsyncIterator[Entry]:
    """Yield every key of the range; what is added or removed meanwhile may be missed or told."""
    start, end = bounds
    while True:
        page = await meta.scan(domain, start, end, limit=page_size)
        for found in page:
            yield found
        if len(page) < page_size:
            return
        start = page[-1].key + "\0"
