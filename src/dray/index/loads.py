"""The durable state of a bulk load: one record for it in every meta domain that it writes to.

    open ─────────────one domain─────────────▶ committed ──time over──▶ nothing
      ├──several domains──▶ publishing ─────────▲
      └──given up, or time over──▶ condemned ──objects deleted──▶ nothing

A load's objects are written by processes that do not reach the metadata store, so there is no staging marker
for each. Its record stands for all of them: it is written before the first, its id is in their paths, and the
commit that makes them visible checks it. As with a marker, whoever changes the record first wins.

The first of a load's domains is its *home*. What is decided about the load is decided there, by one change
of that record: `publishing` can only end in `committed`, and `condemned` in nothing. The records of the other
domains stay `open` until their own commit, in which they become `committed`; the home's commit is the last.
Where there is one domain, its commit is the decision too.
"""

from enum import StrEnum
from typing import Final, NewType

import msgspec

from dray.ids import MetaDomain, TopicRef, WalId
from dray.index.keys import ROOT, children
from dray.index.objects import WAL_PREFIX
from dray.index.stored import decoded

LoadId = NewType("LoadId", bytes)
"""Sixteen bytes: a UUID, never given to two loads."""

_FOLDER: Final = f"{WAL_PREFIX}load="


class LoadState(StrEnum):
    """How far a load has come in a domain."""

    OPEN = "open"
    PUBLISHING = "publishing"
    COMMITTED = "committed"
    CONDEMNED = "condemned"


class Load(msgspec.Struct, frozen=True, array_like=True, tag="l1"):
    """A load as one of its domains knows it."""

    topic: TopicRef
    domains: tuple[MetaDomain, ...]
    """All that it may write to; the home comes first."""
    state: LoadState
    created_at_ms: int
    changed_at_ms: int
    expires_at_ms: int
    """From then on an open load is given up, and what is over may be forgotten."""

    @property
    def home(self) -> MetaDomain:
        return self.domains[0]

    @property
    def is_under_way(self) -> bool:
        """Whether its objects may still become visible in this domain."""
        return self.state in (LoadState.OPEN, LoadState.PUBLISHING)


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Load)


def encode_load(load: Load) -> bytes:
    return _encoder.encode(load)


def decode_load(key: str, value: bytes) -> Load:
    return decoded(_decoder, key, value, "a bulk load")


def load_key(domain: MetaDomain, load: LoadId) -> str:
    return f"{ROOT}/wal/loads/{domain}/{load.hex()}"


def loads_range(domain: MetaDomain) -> tuple[str, str]:
    """Return the scan that covers all loads of a domain."""
    return children(f"{ROOT}/wal/loads/{domain}/")


def load_of_key(key: str) -> LoadId:
    return LoadId(bytes.fromhex(key.rpartition("/")[2]))


def load_folder(load: LoadId, domain: MetaDomain | None = None) -> str:
    """Return what the paths of a load's objects begin with, of all or of one domain."""
    folder = f"{_FOLDER}{load.hex()}/"
    return folder if domain is None else f"{folder}domain={domain}/"


def load_path(load: LoadId, domain: MetaDomain, date: str, wal: WalId) -> str:
    """Return the path of one of a load's WAL objects; `date` is YYYY/MM/DD and for people to read."""
    return f"{load_folder(load, domain)}date={date}/{wal.hex()}.wo"


def manifest_path(load: LoadId) -> str:
    """Return the path of what a load in several domains is to make visible."""
    return f"{load_folder(load)}manifest"


def load_of_path(path: str) -> LoadId | None:
    """Return which load wrote an object, or None when it came another way."""
    if not path.startswith(_FOLDER):
        return None
    try:
        return LoadId(bytes.fromhex(path[len(_FOLDER) :].partition("/")[0]))
    except ValueError:
        return None
