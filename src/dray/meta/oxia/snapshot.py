"""Snapshots of domains: one range scan each, which the server answers from one snapshot of the shard.

A transaction is applied by one request. A scan therefore sees all of it or nothing of it, and a transaction
that was decided and not applied has not been acknowledged yet. A scan that breaks after its first page cannot
be continued: another one would be of a later moment.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import ClassVar

from dray.ids import Domain
from dray.meta.oxia.client import Stored
from dray.meta.oxia.commits import Context
from dray.meta.oxia.errors import StoreClosed
from dray.meta.oxia.keys import data_range, head_key, key_of
from dray.meta.oxia.plan import exists, port_version
from dray.meta.oxia.records import decode_record
from dray.meta.port import Entry, Unavailable

_Pages = AsyncGenerator[list[Stored], None]


@dataclass(frozen=True, slots=True)
class OxiaSnapshot:
    """Each domain is read at a moment of its own."""

    context: Context
    position: ClassVar[None] = None

    async def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        start, end = data_range(domain)
        try:
            pages, first = await self.context.with_retries(lambda: self._begin(domain, start, end))
            async with aclosing(pages):
                if page := _lasting(first, start):
                    yield page
                async for found in pages:
                    if page := _lasting(found, start):
                        yield page
        except StoreClosed as error:
            raise Unavailable("the metadata store was closed during the snapshot") from error

    async def _begin(self, domain: Domain, start: str, end: str) -> tuple[_Pages, list[Stored]]:
        client = self.context.client
        shard = await client.shard_of(head_key(domain))
        pages = client.scan_pages(shard, start, end, self.context.settings.snapshot_ms / 1000)
        return pages, await anext(pages, [])


def _lasting(found: list[Stored], prefix: str) -> list[Entry]:
    """Return the keys that exist and have no session."""
    lasting = []
    for stored in found:
        record = decode_record(stored.value or b"")
        if exists(stored, record) and record.session is None:
            lasting.append(Entry(key_of(stored.key, prefix), record.value, port_version(stored.version)))
    return lasting
