"""Missing-file hints: reports to maintenance that a Parquet file in the index does not exist.

A reader that does not find a file records a missing-file hint under the stream. Every maintenance pass reads
the hints, restores the file from the table if it can, and removes the hint. A hint is verified before use.
"""

from collections import OrderedDict
from contextlib import suppress
from typing import Final

import msgspec

from dray.ids import MetaDomain, StreamId
from dray.index import ParquetEntry
from dray.index.stored import decoded
from dray.keyspace import log_domain, missing_file_key
from dray.meta.port import ABSENT, Check, MetaError, MetaStore, Put

_KEPT: Final = 1_000


class MissingFileHint(msgspec.Struct, frozen=True, array_like=True, tag="m1"):
    """A Parquet file that a reader did not find."""

    stream: StreamId
    path: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(MissingFileHint)


def decode_missing(key: str, value: bytes) -> MissingFileHint:
    return decoded(_decoder, key, value, "a missing-file hint")


class MissingFileHints:
    """Writes hints of one domain, once per file as far as this process remembers."""

    def __init__(self, meta: MetaStore, domain: MetaDomain) -> None:
        self._meta = meta
        self._domain = domain
        self._recorded: OrderedDict[str, None] = OrderedDict()

    async def record(self, entry: ParquetEntry) -> None:
        """Record that the entry's file is missing; errors of the metadata store are ignored."""
        if entry.path in self._recorded:
            return
        self._recorded[entry.path] = None
        if len(self._recorded) > _KEPT:
            self._recorded.popitem(last=False)
        key = missing_file_key(self._domain, entry.file_id)
        hint = _encoder.encode(MissingFileHint(entry.stream, entry.path))
        with suppress(MetaError):
            await self._meta.commit(log_domain(self._domain), [Check(key, ABSENT)], [Put(key, hint)])
