"""Durable state of a bulk load: one record in every meta domain that it writes to.

    open ─────────────one domain─────────────▶ committed ──expired──▶ deleted
      ├──several domains──▶ publishing ─────────▲
      └──aborted or expired──▶ condemned ──objects deleted──▶ deleted

A load's objects are written by processes without access to the metadata store, so they have no staging
markers. The load's record stands in for them: it is written before the first object, its id is part of their
paths, and the commit that makes them visible checks it. As with a marker, the process that changes the record
first wins.

The first of a load's domains is its *home*. Its record decides about the load: `publishing` can only end in
`committed`, and `condemned` in deletion. The records of the other domains stay `open` until their own commit,
in which they become `committed`; the home commits last. With a single domain, its commit is the decision too.
"""

from enum import StrEnum
from typing import Final

import msgspec

from dray.ids import LoadId, MetaDomain, TopicRef, WalId
from dray.index.objects import WAL_PREFIX
from dray.index.stored import decoded

_FOLDER: Final = f"{WAL_PREFIX}load="


class LoadState(StrEnum):
    """Progress of a load in a domain."""

    OPEN = "open"
    PUBLISHING = "publishing"
    COMMITTED = "committed"
    CONDEMNED = "condemned"


class Load(msgspec.Struct, frozen=True, array_like=True, tag="l1"):
    """Record of a load in one of its domains."""

    topic: TopicRef
    domains: tuple[MetaDomain, ...]
    """The domains that it may write to; the home comes first."""
    state: LoadState
    created_at_ms: int
    changed_at_ms: int
    expires_at_ms: int
    """From this time on an open load is aborted, and the record of a finished one may be deleted."""

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


def load_folder(load: LoadId, domain: MetaDomain | None = None) -> str:
    """Return the path prefix of a load's objects, in all domains or in one."""
    folder = f"{_FOLDER}{load.hex()}/"
    return folder if domain is None else f"{folder}domain={domain}/"


def load_path(load: LoadId, domain: MetaDomain, date: str, wal: WalId) -> str:
    """Return the path of a WAL object of a load; `date` is YYYY/MM/DD and only informative."""
    return f"{load_folder(load, domain)}date={date}/{wal.hex()}.wo"


def manifest_path(load: LoadId) -> str:
    """Return the path of a load's manifest, which lists the objects to commit in each of several domains."""
    return f"{load_folder(load)}manifest"


def load_of_path(path: str) -> LoadId | None:
    """Return the load that wrote an object, or None if no load did."""
    if not path.startswith(_FOLDER):
        return None
    try:
        return LoadId(bytes.fromhex(path[len(_FOLDER) :].partition("/")[0]))
    except ValueError:
        return None
