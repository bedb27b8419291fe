"""All values of a kind; one that cannot be read is told of and passed over, so that it holds up no other."""

from collections.abc import AsyncIterator, Callable
from typing import TypeVar

from dray.index import CorruptValue
from dray.meta.port import Domain, Entry, MetaStore
from dray.meta.scans import scan_all
from dray.observe import get_logger

T = TypeVar("T")

_log = get_logger("pipeline")


async def readable(
    meta: MetaStore, domain: Domain, bounds: tuple[str, str], decode: Callable[[str, bytes], T]
) -> AsyncIterator[tuple[Entry, T]]:
    """Go through the range; what is read stands beside where it is stored."""
    async for stored in scan_all(meta, domain, bounds):
        try:
            value = decode(stored.key, stored.value)
        except CorruptValue as error:
            _log.warning("value_not_read", domain=domain, error=str(error))
            continue
        yield stored, value
