"""When compactors last asked the tables which files they name; without that no given-up file is deleted.

A mark says that the index has given a file up, and it is written once. The table may name the file again
later: somebody rolls it back to an earlier snapshot. So whoever deletes needs a fresh answer of the table,
and brokers, who delete, have no catalogue. A compactor asks, holds back the marks of files that the table
names, and only then writes here, for each topic, the time before which it began: marks whose grace was over
by then have been compared.

Where nothing is written no compactor has ever looked, so there is no table, and the marks' word is enough.
"""

from typing import Final

import msgspec

from dray.ids import MetaDomain
from dray.index.files import FileGcMarker
from dray.index.keys import ROOT
from dray.index.stored import decoded

ASKED_FOR_MS: Final = 120_000
"""How long an answer of the table counts: somebody may change the table at any time."""


class Asked(msgspec.Struct, frozen=True, array_like=True, tag="q1"):
    """When the tables were asked, by topic id in hexadecimal; only of topics with files to delete."""

    topics: dict[str, int] = {}

    def allows(self, mark: FileGcMarker, now_ms: int) -> bool:
        """Whether the table was asked about a marked file since its grace was over, and not long ago."""
        asked_ms = self.topics.get(mark.topic.topic_id.hex())
        return asked_ms is not None and mark.delete_after_ms <= asked_ms and asked_ms > now_ms - ASKED_FOR_MS


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Asked)


def asked_key(domain: MetaDomain) -> str:
    return f"{ROOT}/parquet/asked/{domain}"


def encode_asked(asked: Asked) -> bytes:
    return _encoder.encode(asked)


def decode_asked(key: str, value: bytes) -> Asked:
    return decoded(_decoder, key, value, "when tables were asked")
