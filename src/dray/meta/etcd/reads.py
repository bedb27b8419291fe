"""Reads: linearizable, and a scan of many keys page by page at one revision.

If etcd compacts that revision away between two pages, the scan starts over. A reverse scan with a limit is
sorted by the server, which reads the whole range for it.
"""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Final

from dray.ids import Domain
from dray.meta.etcd import api_pb2 as api
from dray.meta.etcd.calls import RANGE
from dray.meta.etcd.endpoints import Endpoints
from dray.meta.etcd.errors import Compacted
from dray.meta.etcd.keys import Layout
from dray.meta.port import Entry, Unavailable, Version

_RESTARTS: Final = 5


class Reads:
    """Reads of one client."""

    def __init__(self, endpoints: Endpoints, layout: Layout, page_keys: int) -> None:
        self._endpoints = endpoints
        self._layout = layout
        self._page_keys = page_keys

    async def get(self, domain: Domain, key: str) -> Entry | None:
        response = await self._endpoints.repeat(RANGE, api.RangeRequest(key=self._layout.entry(domain, key)))
        return self._entry(domain, response.kvs[0]) if response.kvs else None

    async def scan(
        self, domain: Domain, start: str, end: str, limit: int | None, *, reverse: bool
    ) -> list[Entry]:
        low, high = self._layout.scan(domain, start, end)
        if low >= high:
            return []
        if reverse and limit is not None:
            found = await self._last(low, high, limit)
        else:
            found = await self._all(low, high, limit)
            if reverse:
                found.reverse()
        return [self._entry(domain, one) for one in found]

    async def revision(self) -> int:
        """Return a revision that includes every commit that has been acknowledged."""
        request = api.RangeRequest(key=self._layout.format, keys_only=True)
        return (await self._endpoints.repeat(RANGE, request)).header.revision

    async def pages_at(self, domain: Domain, revision: int) -> AsyncGenerator[list[Entry], None]:
        """Yield the keys of a domain at a revision, except ephemeral ones."""
        low, high = self._layout.domain(domain)
        more = True
        while more:
            request = api.RangeRequest(key=low, range_end=high, limit=self._page_keys, revision=revision)
            try:
                page = await self._endpoints.repeat(RANGE, request)
            except Compacted as error:
                raise Unavailable(
                    "etcd has compacted its history before the snapshot was read; "
                    "raise metadata.etcd_history_ms and try again"
                ) from error
            if page.kvs:
                low = page.kvs[-1].key + b"\0"
            more = page.more
            lasting = [self._entry(domain, found) for found in page.kvs if not found.lease]
            if lasting:
                yield lasting

    async def _last(self, low: bytes, high: bytes, limit: int) -> list[api.KeyValue]:
        descending = api.RangeRequest.DESCEND
        request = api.RangeRequest(key=low, range_end=high, limit=limit, sort_order=descending)
        return list((await self._endpoints.repeat(RANGE, request)).kvs)

    async def _all(self, low: bytes, high: bytes, limit: int | None) -> list[api.KeyValue]:
        for _ in range(_RESTARTS):
            try:
                return await self._pages(low, high, limit)
            except Compacted:
                continue
        raise Unavailable(
            "etcd compacts its history faster than a scan reads; raise metadata.etcd_history_ms"
        )

    async def _pages(self, low: bytes, high: bytes, limit: int | None) -> list[api.KeyValue]:
        found: list[api.KeyValue] = []
        revision, more = 0, True
        while more and (limit is None or len(found) < limit):
            most = self._page_keys if limit is None else min(self._page_keys, limit - len(found))
            request = api.RangeRequest(key=low, range_end=high, limit=most, revision=revision)
            page = await self._endpoints.repeat(RANGE, request)
            found.extend(page.kvs)
            revision, more = revision or page.header.revision, page.more
            low = found[-1].key + b"\0" if found else low
        return found

    def _entry(self, domain: Domain, found: api.KeyValue) -> Entry:
        return Entry(self._layout.key(domain, found.key), found.value, Version(found.mod_revision))


@dataclass(frozen=True, slots=True)
class EtcdSnapshot:
    """The store at one revision. It is readable until etcd compacts that revision away."""

    reads: Reads
    position: int

    def read(self, domain: Domain) -> AsyncGenerator[list[Entry], None]:
        return self.reads.pages_at(domain, self.position)
