"""Reads of stored records for maintenance, in which a corrupt value is logged and skipped."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import TypeVar

from dray.ids import Domain, MetaDomain
from dray.index import CorruptValue, FileGcMarker, decode_file_gc
from dray.keyspace import file_gc_range, log_domain
from dray.meta.port import Entry, MetaStore
from dray.meta.reading import scan_all
from dray.observe import get_logger

T = TypeVar("T")

_log = get_logger("maintenance")


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A Parquet file that the index has released, by its marker."""

    domain: Domain
    stored: Entry
    marker: FileGcMarker


async def readable(
    meta: MetaStore, domain: Domain, bounds: tuple[str, str], decode: Callable[[str, bytes], T]
) -> AsyncIterator[tuple[Entry, T]]:
    """Return the values of a key range that can be decoded, each with its stored entry."""
    async for stored in scan_all(meta, domain, bounds):
        try:
            value = decode(stored.key, stored.value)
        except CorruptValue as error:
            _log.warning("corrupt_value_skipped", domain=domain, error=str(error))
            continue
        yield stored, value


async def marked_files(meta: MetaStore, domain: MetaDomain) -> AsyncIterator[MarkedFile]:
    """Return the files of a meta domain that the index has released and the sweep has not deleted yet."""
    store_domain = log_domain(domain)
    async for stored, marker in readable(meta, store_domain, file_gc_range(domain), decode_file_gc):
        yield MarkedFile(store_domain, stored, marker)
