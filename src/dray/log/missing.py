"""Telling the compactor that a Parquet file is not where the index says.

A reader that finds out leaves a note beside the stream. The compactor looks for notes at every turn, has the
file written again from the table if it can, and removes the note. A note is only a hint; whoever reads it
looks for himself.
"""

from collections import OrderedDict
from contextlib import suppress
from typing import Final

import msgspec

from dray.ids import StreamId
from dray.index import ParquetEntry
from dray.index.keys import ROOT, children
from dray.index.stored import decoded
from dray.meta.port import ABSENT, Check, Domain, MetaError, MetaStore, Put

_KEPT: Final = 1_000


class MissingNote(msgspec.Struct, frozen=True, array_like=True, tag="m1"):
    """A Parquet file that somebody wanted to read and did not find."""

    stream: StreamId
    path: str


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(MissingNote)


def missing_range(domain: Domain) -> tuple[str, str]:
    """Return the scan that covers the notes of a domain."""
    return children(f"{ROOT}/parquet/missing/{domain}/")


def decode_missing(key: str, value: bytes) -> MissingNote:
    return decoded(_decoder, key, value, "a note of a missing file")


class MissingNotes:
    """Leaves notes of one domain; each file's once, as far as this process remembers."""

    def __init__(self, meta: MetaStore, domain: Domain) -> None:
        self._meta = meta
        self._domain = domain
        self._left: OrderedDict[str, None] = OrderedDict()

    async def leave(self, entry: ParquetEntry) -> None:
        """Note that the entry's file is not there; that the store is away does not matter now."""
        if entry.path in self._left:
            return
        self._left[entry.path] = None
        if len(self._left) > _KEPT:
            self._left.popitem(last=False)
        key = f"{missing_range(self._domain)[0]}{entry.file_id.hex()}"
        note = _encoder.encode(MissingNote(entry.stream, entry.path))
        with suppress(MetaError):
            await self._meta.commit(self._domain, [Check(key, ABSENT)], [Put(key, note)])
